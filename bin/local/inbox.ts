import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { z } from 'zod';
import { readBody } from './aws/http.ts';
import { inboxPage } from './inbox-page.ts';

/** A message that the stack sent through a local AWS service or to an endpoint of the inbox. */
export type SentMessage =
  | { kind: 'email'; from: string; to: string[]; subject: string; text: string; html: string }
  | { kind: 'sms'; to: string; text: string; attributes: Record<string, string> }
  | { kind: 'managed'; topic: string; subject: string | null; text: string }
  | { kind: 'incidentpager' | 'incidentrouter' | 'atomfeed'; path: string; content_type: string; body: string };

/** A message with the time of its arrival (ISO 8601). */
export type InboxMessage = SentMessage & { sent_at: string };

/** The most recent messages that the stack sent, at most `MAX_MESSAGES`, readable over HTTP. */
export type Inbox = {
  server: Server;
  add(message: SentMessage): void;
  /** Returns the messages, newest first. */
  list(): InboxMessage[];
};

const MAX_MESSAGES = 10_000;
const MAX_BODY_BYTES = 6 * 1024 * 1024;

/**
 * Creates the inbox. `GET /` lists the messages, newest first, as JSON, or as HTML for a browser; `?kind=` and `?to=`
 * filter. It also simulates the pager (`/pager`), the router (`/router/...`) and the feed (`/feed`) with their success
 * responses.
 */
export const createInbox = (): Inbox => {
  let messages: InboxMessage[] = [];
  const inbox: Inbox = {
    server: createServer((request, response) => void handle(inbox, request, response)),
    add(message) {
      messages.push({ ...message, sent_at: new Date().toISOString() });
      if (messages.length >= MAX_MESSAGES * 2) messages = messages.slice(-MAX_MESSAGES);
    },
    list: () => messages.slice(-MAX_MESSAGES).reverse(),
  };
  inbox.server.keepAliveTimeout = 60_000;
  return inbox;
};

const handle = async (inbox: Inbox, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  try {
    const url = new URL(request.url ?? '/', 'http://inbox');
    if (request.method === 'POST') await receive(inbox, url.pathname, request, response);
    else if (request.method === 'GET' && url.pathname === '/') list(inbox, url, request, response);
    else sendJson(response, 404, { message: 'Not found. GET / lists the messages.' });
  } catch {
    sendJson(response, 400, { message: 'The request could not be read.' });
  }
};

const list = (inbox: Inbox, { searchParams }: URL, request: IncomingMessage, response: ServerResponse): void => {
  const kind = searchParams.get('kind');
  const to = searchParams.get('to');
  const messages = inbox
    .list()
    .filter((message) => (kind === null || message.kind === kind) && (to === null || recipients(message).includes(to)));
  if (request.headers.accept?.includes('text/html')) {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(inboxPage(messages));
  } else sendJson(response, 200, messages);
};

const recipients = (message: SentMessage): string[] => {
  if (message.kind === 'email') return message.to;
  if (message.kind === 'sms') return [message.to];
  return [message.kind === 'managed' ? message.topic : message.path];
};

const receive = async (
  inbox: Inbox,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const [, name = ''] = path.split('/');
  const endpoint = ENDPOINTS.get(name);
  if (!endpoint) return sendJson(response, 404, { message: 'Not found.' });
  const body = (await readBody(request, MAX_BODY_BYTES)).toString();
  inbox.add({ kind: endpoint.kind, path, content_type: request.headers['content-type'] ?? '', body });
  endpoint.respond(response, body);
};

type SimulatedEndpoint = {
  kind: 'incidentpager' | 'incidentrouter' | 'atomfeed';
  respond(response: ServerResponse, body: string): void;
};

/** The simulated endpoints, by the first segment of their path. */
const ENDPOINTS = new Map<string, SimulatedEndpoint>([
  [
    'pager',
    {
      kind: 'incidentpager',
      respond: (response, body) =>
        sendJson(response, 200, {
          status: 'success',
          message: 'Event processed',
          incident_key: textField(body, 'incident_key') ?? crypto.randomUUID(),
        }),
    },
  ],
  [
    'router',
    {
      kind: 'incidentrouter',
      respond: (response, body) =>
        sendJson(response, 200, { result: 'success', entity_id: textField(body, 'entity_id') ?? crypto.randomUUID() }),
    },
  ],
  [
    'feed',
    {
      kind: 'atomfeed',
      respond: (response, body) =>
        response
          .writeHead(201, {
            location: `/feed/${crypto.randomUUID()}`,
            'content-type': 'application/atom+xml;type=entry;charset=utf-8',
          })
          .end(body),
    },
  ],
]);

const jsonObject = z.record(z.string(), z.unknown());

const textField = (body: string, name: string): string | undefined => {
  try {
    const value = jsonObject.parse(JSON.parse(body))[name];
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
};

const sendJson = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};
