import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { BodyTooLargeError, readBody } from '../http.ts';
import { MAX_PAYLOAD_BYTES, type Outcome } from '../lambda/pool.ts';
import { httpApiEvent } from './event.ts';
import type { RequestReport } from './request-report.ts';
import { gatewayMessage, type HttpResponse, httpResponse, INTERNAL_SERVER_ERROR } from './response.ts';
import { createRouter, type Match, type RouteSettings } from './routes.ts';

/** What the gateway serves. */
export type Api = {
  routes: readonly RouteSettings[];
  invoke: (functionName: string, event: string) => Promise<Outcome>;
  /** Takes a report of each request that was answered. */
  onRequest?: (report: RequestReport) => void;
};

/** An HTTP API that can take its port before it is known what it serves. */
export type Gateway = {
  server: Server;
  /** From now on requests go to `api`; before, they are answered 503. */
  serve(api: Api): void;
};

/** Request line and headers together, as HTTP APIs count them. */
const MAX_HEADER_BYTES = 10_240;
const MAX_BODY_BYTES = 10 * 1024 * 1024;
/** Node's own limit, well above ours, so that requests between the two get the right answer. */
const PARSER_HEADER_BYTES = 64 * 1024;
const IDLE_TIMEOUT_MS = 60_000;
const unavailable = gatewayMessage(503, 'Service Unavailable');

/**
 * An HTTP API: routes requests to functions, with the limits and the answers of the real one. `basePath` is the path of
 * an API mapping, such as `/v1.0/123456`, below which all routes live; empty for none.
 */
export const createGateway = (basePath: string): Gateway => {
  let respond: Respond = async () => unavailable;
  let report = (_: RequestReport): void => {};
  const limits = {
    maxHeaderSize: PARSER_HEADER_BYTES,
    requireHostHeader: false,
    keepAliveTimeout: IDLE_TIMEOUT_MS,
    requestTimeout: IDLE_TIMEOUT_MS,
  };
  const server = createServer(limits, async (request, response) => {
    const begunAt = performance.now();
    let routeKey: string | undefined;
    const matched = ({ route }: Match) => {
      routeKey = route.key;
    };
    write(request, response, await respond(request, matched).catch(refusal));
    report({ routeKey, status: response.statusCode, latencyMs: performance.now() - begunAt });
  });
  server.on('clientError', refuse);
  return {
    server,
    serve(api) {
      respond = responder(basePath, api);
      report = api.onRequest ?? report;
    },
  };
};

/** Answers a request, having told which route it took. */
type Respond = (request: IncomingMessage, matched: (match: Match) => void) => Promise<HttpResponse>;

const responder = (basePath: string, api: Api): Respond => {
  const route = createRouter(api.routes);
  return async (request, matched) => {
    if (headerBytes(request) > MAX_HEADER_BYTES) return gatewayMessage(431, 'Request Header Fields Too Large');
    const { path, query } = target(request);
    const inside = below(basePath, path);
    const match = inside === undefined ? undefined : route(request.method ?? '', inside);
    if (!match) return gatewayMessage(404, 'Not Found');
    matched(match);
    const body = await readBody(request, MAX_BODY_BYTES);
    const { localAddress, localPort } = request.socket;
    const event = JSON.stringify(httpApiEvent({ request, path, query, body, match }, `${localAddress}:${localPort}`));
    if (Buffer.byteLength(event) > MAX_PAYLOAD_BYTES) throw new BodyTooLargeError();
    const outcome = await withTimeout(api.invoke(match.route.functionName, event), match.route.timeoutMs);
    if (outcome === undefined || outcome.throttled) return unavailable;
    return outcome.failed ? INTERNAL_SERVER_ERROR : httpResponse(outcome.payload);
  };
};

/** The path and the query of the request line; a proxy's client names the whole address there. */
const target = ({ url = '/', headers, httpVersion }: IncomingMessage): { path: string; query: string } => {
  if (httpVersion === '1.1' && headers.host === undefined) throw new URIError('The host is missing.');
  const [beforeQuery = '', ...query] = url.replace(/^https?:\/\/[^/?]*/i, '').split('?');
  const path = beforeQuery === '' ? '/' : beforeQuery;
  if (!path.startsWith('/')) throw new URIError('The target is no path.');
  decodeURIComponent(path);
  return { path, query: query.join('?') };
};

/** The path below the base path, or undefined where the request is not meant for this API. */
const below = (basePath: string, path: string): string | undefined => {
  if (path === basePath) return '/';
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : undefined;
};

const headerBytes = ({ method = '', url = '', rawHeaders }: IncomingMessage): number => {
  const line = method.length + url.length + ' '.length + ' HTTP/1.1\r\n'.length;
  return rawHeaders.reduce((total, part) => total + part.length + ': '.length, line);
};

const withTimeout = async (outcome: Promise<Outcome>, ms: number): Promise<Outcome | undefined> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  return Promise.race([outcome, late]).finally(() => clearTimeout(timer));
};

const refusal = (error: unknown): HttpResponse => {
  if (error instanceof URIError) return gatewayMessage(400, 'Bad Request');
  if (error instanceof BodyTooLargeError) return gatewayMessage(413, 'Request Entity Too Large');
  return INTERNAL_SERVER_ERROR;
};

const write = (request: IncomingMessage, response: ServerResponse, answer: HttpResponse): void => {
  try {
    send(request, response, answer);
  } catch {
    send(request, response, INTERNAL_SERVER_ERROR);
  }
};

/** Throws, having sent nothing, where a header of the answer cannot be sent. */
const send = ({ method }: IncomingMessage, response: ServerResponse, { status, headers, body }: HttpResponse): void => {
  const mayHaveBody = status !== 204 && status !== 304;
  const length = mayHaveBody ? { 'content-length': Buffer.byteLength(body) } : {};
  response.writeHead(status, { ...headers, ...length, 'apigw-requestid': crypto.randomUUID() });
  response.end(mayHaveBody && method !== 'HEAD' ? body : undefined);
};

/** Answers what Node's parser could not read: no request exists yet, only the connection. */
const refuse = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (!socket.writable) return void socket.destroy();
  const { status, body } =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? gatewayMessage(431, 'Request Header Fields Too Large')
      : gatewayMessage(400, 'Bad Request');
  const reason = status === 431 ? 'Request Header Fields Too Large' : 'Bad Request';
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  );
};
