import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { BodyTooLargeError, origin, readBody } from 'local-aws/http.ts';
import { foreignPageRefusal, loopbackRefusal } from 'local-aws/loopback-refusal.ts';
import { z } from 'zod';
import { tenantId } from '../../../shared/contracts/alarm-event.ts';
import { MASKED_VALUE } from '../../../shared/contracts/webhook-request.ts';
import { isReservedHeader } from '../../../shared/contracts/webhook-request-rules.ts';
import {
  type InboxMessage,
  kindNames,
  type SentMessage,
  type StackAddresses,
  type WebhookAddress,
  type WebhookMessage,
  type WebhookResponse,
  type WebhookVerification,
  webhookResponses,
} from './message.ts';
import { MessageStore, messageFilter, streamUpdates } from './message-store.ts';
import { EMAIL_POLICY, PAGE_POLICY, type PageFile, pageFiles, readPage } from './page-files.ts';
import { sendJson, simulatedEndpoints } from './simulated-endpoints.ts';
import { type TenantCredentials, verifyWebhook } from './verify-webhook.ts';

export type { InboxMessage, SentMessage } from './message.ts';

export type ConnectedStack = {
  addresses: StackAddresses;
  /** Returns the current webhook credentials of a tenant; without secrets if it has none. */
  credentialsOf: (tenant: string) => Promise<TenantCredentials>;
  now: () => number;
};

/** The most recent messages that the stack sent, and the webhooks that it received, readable over HTTP. */
export type Inbox = {
  server: Server;
  add(message: SentMessage): void;
  list(): InboxMessage[];
  /** Verifies webhooks with the credentials of this stack, and shows its addresses in the commands of the page. */
  connect(stack: ConnectedStack): void;
};

export type InboxOptions = {
  /** The delay of slow webhook responses in ms. Senders wait at most 15 s. */
  slowResponseMs?: number;
};

const MAX_BODY_BYTES = 6 * 1024 * 1024;

/** Headers of all responses: no page of another origin can load, frame or interpret them. */
const COMMON_HEADERS = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** Creates the inbox, with its paths (CONTRIBUTING.md#inbox). */
export const createInbox = ({ slowResponseMs = 20_000 }: InboxOptions = {}): Inbox => {
  const parts: InboxParts = { store: new MessageStore(), slowResponseMs, responses: new Map(), stack: undefined };
  // Each open page is a listener.
  parts.store.setMaxListeners(0);
  const server = createServer((request, response) => void handle(parts, request, response));
  server.keepAliveTimeout = 60_000;
  return {
    server,
    add: (message) => parts.store.add(message),
    list: () => parts.store.list(),
    connect: (stack) => {
      parts.stack = stack;
      parts.store.emit('change');
    },
  };
};

type InboxParts = {
  store: MessageStore;
  slowResponseMs: number;
  /** How the webhook addresses of tenants respond, if not with 200. */
  responses: Map<string, WebhookResponse>;
  stack: ConnectedStack | undefined;
};

type Exchange = InboxParts & { url: URL; request: IncomingMessage; response: ServerResponse };

const handle = async (parts: InboxParts, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  try {
    for (const [name, value] of Object.entries(COMMON_HEADERS)) response.setHeader(name, value);
    // Only its own page may change the inbox, not those of other servers on this machine.
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const refusal = (isRead ? loopbackRefusal : foreignPageRefusal)(request.headers);
    if (refusal !== undefined) return sendJson(response, 403, { message: refusal });
    // The address is relative, so that its host cannot be set by the request line.
    const url = new URL(`http://inbox${request.url?.startsWith('/') ? request.url : '/'}`);
    await route({ ...parts, url, request, response });
  } catch (error) {
    const [status, message] = errorResponse(error);
    if (response.headersSent) response.destroy();
    else sendJson(response, status, { message });
  }
};

class RequestError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const errorResponse = (error: unknown): [status: number, message: string] => {
  if (error instanceof RequestError) return [error.status, error.message];
  if (error instanceof BodyTooLargeError) return [413, `The body is larger than ${MAX_BODY_BYTES} bytes.`];
  return [500, `The inbox failed: ${errorText(error)}`];
};

const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const route = async (exchange: Exchange): Promise<void> => {
  const { url, request } = exchange;
  const [, first = '', second = '', ...rest] = url.pathname.split('/');
  if (first === 'webhooks' && rest.length === 0)
    return second === '' ? listAddresses(exchange) : webhook(exchange, second);
  if (request.method === 'POST') return receive(exchange, first);
  if (request.method === 'DELETE' && url.pathname === '/') return removeMessages(exchange);
  if (request.method !== 'GET') throw new RequestError(404, 'Not found.');
  if (url.pathname === '/') return listMessages(exchange);
  if (url.pathname === '/updates') return sendUpdates(exchange);
  if (first === 'messages') return sendMessage(exchange, Number(second), rest);
  if (simulatedEndpoints.has(first)) throw new RequestError(405, 'A simulated receiver supports only POST.');
  const file = pageFiles.get(url.pathname);
  if (!file) throw new RequestError(404, 'Not found. GET / lists the messages.');
  sendFile(exchange, await file());
};

const listMessages = async (exchange: Exchange): Promise<void> => {
  const { store, url, request, response } = exchange;
  response.setHeader('vary', 'accept');
  if (!request.headers.accept?.includes('text/html')) {
    return sendJson(response, 200, store.list().filter(requestedFilter(url)));
  }
  response.setHeader('content-security-policy', PAGE_POLICY);
  sendFile(exchange, await readPage());
};

const removeMessages = ({ store, url, response }: Exchange): void => {
  store.remove(requestedFilter(url));
  response.writeHead(204).end();
};

/** Returns the filter in the query. @throws RequestError if its kind does not exist, which would match no message */
const requestedFilter = ({ searchParams }: URL): ReturnType<typeof messageFilter> => {
  const kind = searchParams.get('kind');
  if (kind !== null && !Object.hasOwn(kindNames, kind)) {
    throw new RequestError(400, `kind must be one of ${Object.keys(kindNames).join(', ')}.`);
  }
  return messageFilter(searchParams);
};

const sendUpdates = (exchange: Exchange): void => {
  const { store, stack, url, response } = exchange;
  streamUpdates(response, store, messageFilter(url.searchParams), () => ({
    webhooks: addresses(exchange),
    ...(stack && { stack: stack.addresses }),
  }));
};

/** Sends a message, or the HTML of an email for the frame that shows it. */
const sendMessage = (exchange: Exchange, id: number, rest: readonly string[]): void => {
  const message = exchange.store.find(id);
  const part = rest.join('/');
  if (message?.kind === 'email' && part === 'html') {
    exchange.response.setHeader('content-security-policy', EMAIL_POLICY);
    sendFile(exchange, { contentType: 'text/html; charset=utf-8', content: message.html });
  } else if (message && part === '') sendJson(exchange.response, 200, message);
  else throw new RequestError(404, 'Not found. The message was deleted, or newer ones displaced it.');
};

const sendFile = ({ response }: Exchange, { contentType, content }: PageFile): void => {
  response.writeHead(200, { 'content-type': contentType }).end(content);
};

const readText = async (request: IncomingMessage): Promise<string> =>
  (await readBody(request, MAX_BODY_BYTES)).toString();

const receive = async ({ store, url, request, response }: Exchange, name: string): Promise<void> => {
  const endpoint = simulatedEndpoints.get(name);
  if (!endpoint) throw new RequestError(404, 'Not found.');
  const body = await readText(request);
  const contentType = request.headers['content-type'] ?? '';
  store.add({ kind: endpoint.kind, path: url.pathname, content_type: contentType, body });
  endpoint.respond(response, body);
};

const addressOf = ({ responses, request }: Exchange, tenant: string): WebhookAddress => ({
  tenant,
  url: `${origin(request.socket.localPort ?? 0)}/webhooks/${encodeURIComponent(tenant)}`,
  respond: responses.get(tenant) ?? '200',
});

/** Returns the addresses of the tenants of the stack, and of those whose response was set. */
const addresses = (exchange: Exchange): WebhookAddress[] =>
  [...new Set([...(exchange.stack?.addresses.tenants ?? []), ...exchange.responses.keys()])].map((tenant) =>
    addressOf(exchange, tenant),
  );

const listAddresses = (exchange: Exchange): void => {
  if (exchange.request.method !== 'GET') throw new RequestError(404, 'Not found. Send webhooks to /webhooks/<tenant>.');
  sendJson(exchange.response, 200, addresses(exchange));
};

const webhook = async (exchange: Exchange, segment: string): Promise<void> => {
  const { responses, store, url, request, response } = exchange;
  const tenant = readTenant(segment);
  if (request.method === 'POST') {
    const selected = readResponse(url.searchParams.get('respond') ?? addressOf(exchange, tenant).respond);
    store.add(await receivedWebhook(exchange, tenant, selected));
    return respondWith(exchange, selected);
  }
  if (request.method === 'PUT') {
    responses.set(tenant, readResponse(readRespond(await readText(request))));
    store.emit('change');
  } else if (request.method !== 'GET') {
    throw new RequestError(405, 'A webhook address supports POST, and GET and PUT of its response.');
  }
  sendJson(response, 200, addressOf(exchange, tenant));
};

/** Sends the selected response. A slow one is cancelled if the connection closes. */
const respondWith = ({ response, slowResponseMs }: Exchange, selected: WebhookResponse): void => {
  if (selected !== 'slow') {
    sendJson(response, Number(selected), { message: `This address responds with ${selected}.` });
    return;
  }
  const respondLate = () => sendJson(response, 200, { message: 'This address responds slowly.' });
  const timer = setTimeout(respondLate, slowResponseMs);
  response.once('close', () => clearTimeout(timer));
};

const receivedWebhook = async (
  { url, request, stack }: Exchange,
  tenant: string,
  responded: WebhookResponse,
): Promise<WebhookMessage> => {
  const body = await readText(request);
  const headers = flatHeaders(request.headers);
  const verify = async (): Promise<WebhookVerification> => {
    const credentials = (await stack?.credentialsOf(tenant)) ?? NO_CREDENTIALS;
    return verifyWebhook({ tenant, headers, body }, credentials, stack?.now() ?? Date.now());
  };
  const verification = await verify().catch((error: unknown) => ({
    verified: false,
    problems: [`The credentials of tenant ${tenant} could not be read: ${errorText(error)}`],
    signed_with: [],
  }));
  const shown = { path: url.pathname, content_type: headers['content-type'] ?? '', headers: withoutSecrets(headers) };
  return { kind: 'webhook', tenant, ...shown, body, ...verification, responded };
};

/** Masks the values of all headers that the service does not set: those of `webhook_request` are secrets. */
const withoutSecrets = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, isReservedHeader(name) ? value : MASKED_VALUE]),
  );

const NO_CREDENTIALS: TenantCredentials = { token: undefined, secrets: [], replaced: [] };

const flatHeaders = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );

const readTenant = (segment: string): string => {
  const { data: tenant } = tenantId.safeParse(decodeSegment(segment));
  if (tenant === undefined)
    throw new RequestError(400, 'The tenant must be 1 to 128 printable ASCII characters without spaces.');
  return tenant;
};

const decodeSegment = (segment: string): string | undefined => {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
};

const readResponse = (name: unknown): WebhookResponse => {
  const found = webhookResponses.find((response) => response === name);
  if (!found) throw new RequestError(400, `respond must be one of ${webhookResponses.join(', ')}.`);
  return found;
};

const responseSettings = z.object({ respond: z.unknown() });

const readRespond = (body: string): unknown => {
  try {
    return responseSettings.parse(JSON.parse(body)).respond;
  } catch {
    throw new RequestError(400, 'The body must be a JSON object such as {"respond":"410"}.');
  }
};
