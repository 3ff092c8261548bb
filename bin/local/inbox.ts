import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { z } from 'zod';
import { readBody } from './aws/http.ts';
import { inboxPage } from './inbox-page.ts';

/** What went out of the stack, by way of a service that it runs here or to an address of the inbox. */
export type Sent =
  | { kind: 'email'; from: string; to: string[]; subject: string; text: string; html: string }
  | { kind: 'sms'; to: string; text: string; attributes: Record<string, string> }
  | { kind: 'managed'; topic: string; subject: string | null; text: string }
  | { kind: 'incidentpager' | 'incidentrouter' | 'atomfeed'; path: string; content_type: string; body: string };

/** Something that was sent, with the time (ISO 8601) at which it came. */
export type Kept = Sent & { sent_at: string };

/** Everything that was sent, to be read over HTTP and written to from inside. */
export interface Inbox {
  server: Server;
  keep(sent: Sent): void;
  /** Newest first. */
  list(): Kept[];
}

const mostKept = 10_000;
const maximumBytes = 6 * 1024 * 1024;

/**
 * The inbox: `GET /` lists what was sent, newest first, as JSON, or as a page to a browser; `?kind=` and `?to=` filter.
 * It also stands in for the pager (`/pager`), the router (`/router/...`) and the feed (`/feed`), answering as they do.
 */
export function createInbox(): Inbox {
  let kept: Kept[] = [];
  const inbox: Inbox = {
    server: createServer((request, response) => void answer(inbox, request, response)),
    keep(sent) {
      kept.push({ ...sent, sent_at: new Date().toISOString() });
      if (kept.length >= mostKept * 2) kept = kept.slice(-mostKept);
    },
    list: () => kept.slice(-mostKept).reverse(),
  };
  inbox.server.keepAliveTimeout = 60_000;
  return inbox;
}

async function answer(inbox: Inbox, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const url = new URL(request.url ?? '/', 'http://inbox');
    if (request.method === 'POST') await receive(inbox, url.pathname, request, response);
    else if (request.method === 'GET' && url.pathname === '/') show(inbox, url, request, response);
    else reply(response, 404, { message: 'The inbox lists what was sent at GET /.' });
  } catch {
    reply(response, 400, { message: 'The request could not be read.' });
  }
}

function show(inbox: Inbox, { searchParams }: URL, request: IncomingMessage, response: ServerResponse): void {
  const kind = searchParams.get('kind');
  const to = searchParams.get('to');
  const chosen = inbox
    .list()
    .filter((sent) => (kind === null || sent.kind === kind) && (to === null || recipients(sent).includes(to)));
  if (request.headers.accept?.includes('text/html')) {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(inboxPage(chosen));
  } else reply(response, 200, chosen);
}

function recipients(sent: Sent): string[] {
  if (sent.kind === 'email') return sent.to;
  if (sent.kind === 'sms') return [sent.to];
  return [sent.kind === 'managed' ? sent.topic : sent.path];
}

async function receive(inbox: Inbox, path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, first = ''] = path.split('/');
  const stand = stands.get(first);
  if (!stand) return reply(response, 404, { message: 'Nobody listens here.' });
  const body = (await readBody(request, maximumBytes)).toString();
  inbox.keep({ kind: stand.kind, path, content_type: request.headers['content-type'] ?? '', body });
  stand.answer(response, body);
}

interface StandIn {
  kind: 'incidentpager' | 'incidentrouter' | 'atomfeed';
  answer(response: ServerResponse, body: string): void;
}

/** The answers of a success, by the first segment of the path. */
const stands = new Map<string, StandIn>([
  [
    'pager',
    {
      kind: 'incidentpager',
      answer: (response, body) =>
        reply(response, 200, {
          status: 'success',
          message: 'Event processed',
          incident_key: field(body, 'incident_key') ?? crypto.randomUUID(),
        }),
    },
  ],
  [
    'router',
    {
      kind: 'incidentrouter',
      answer: (response, body) =>
        reply(response, 200, { result: 'success', entity_id: field(body, 'entity_id') ?? crypto.randomUUID() }),
    },
  ],
  [
    'feed',
    {
      kind: 'atomfeed',
      answer: (response, body) =>
        response
          .writeHead(201, {
            location: `/feed/${crypto.randomUUID()}`,
            'content-type': 'application/atom+xml;type=entry;charset=utf-8',
          })
          .end(body),
    },
  ],
]);

const fields = z.record(z.string(), z.unknown());

function field(body: string, name: string): string | undefined {
  try {
    const value = fields.parse(JSON.parse(body))[name];
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
