import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { BodyTooLargeError, readBody } from '../http.ts';
import { type InvocationResult, MAX_PAYLOAD_BYTES } from '../lambda/execution-environment-pool.ts';
import { loopbackRefusal } from '../loopback-refusal.ts';
import { timeLimitMs } from '../time-limit.ts';
import { httpApiEvent } from './event.ts';
import { gatewayMessage, type HttpResponse, httpResponse, INTERNAL_SERVER_ERROR } from './response.ts';
import { createRouter, type Match, type RouteSettings } from './routes.ts';

/** A request to the API, as the `AWS/ApiGateway` metrics count it. */
export type RequestReport = {
  /** The key of the matched route (`GET /things/{id}`); undefined if none matched. */
  routeKey: string | undefined;
  status: number;
  /** Real time from the request line to the response. */
  latencyMs: number;
};

export type Api = {
  routes: readonly RouteSettings[];
  invoke: (functionName: string, event: string) => Promise<InvocationResult>;
  /** Called after each response. */
  onRequest?: (report: RequestReport) => void;
};

export type Gateway = {
  server: Server;
  /** Serves `api`. Before this call, all responses are 503. */
  serve(api: Api): void;
};

/** HTTP APIs limit the request line and the headers together. */
const MAX_HEADER_BYTES = 10_240;
const MAX_BODY_BYTES = 10 * 1024 * 1024;
/**
 * The limit of the Node.js parser exceeds `MAX_HEADER_BYTES`, so that requests between the two limits receive the error
 * response of an HTTP API.
 */
const PARSER_HEADER_BYTES = 64 * 1024;
const IDLE_TIMEOUT_MS = 60_000;
const SERVICE_UNAVAILABLE = gatewayMessage(503, 'Service Unavailable');

/**
 * Creates an HTTP API that routes requests to functions, with the limits and error responses of API Gateway. `basePath`
 * is the path of an API mapping, such as `/v1.0/123456`; empty for none. Unlike API Gateway, it refuses requests that
 * pages of other machines may have sent.
 */
export const createGateway = (basePath: string): Gateway => {
  let respond: Respond = async () => SERVICE_UNAVAILABLE;
  let report = (_: RequestReport): void => {};
  const limits = {
    maxHeaderSize: PARSER_HEADER_BYTES,
    requireHostHeader: false,
    keepAliveTimeout: IDLE_TIMEOUT_MS,
    requestTimeout: IDLE_TIMEOUT_MS,
  };
  const server = createServer(limits, async (request, response) => {
    const refusal = loopbackRefusal(request.headers, true);
    if (refusal !== undefined) return write(request, response, gatewayMessage(403, refusal));
    const startedAtMs = performance.now();
    let routeKey: string | undefined;
    const matched = ({ route }: Match) => {
      routeKey = route.key;
    };
    write(request, response, await respond(request, matched).catch(errorResponse));
    report({ routeKey, status: response.statusCode, latencyMs: performance.now() - startedAtMs });
  });
  server.on('clientError', rejectMalformed);
  return {
    server,
    serve(api) {
      respond = responder(basePath, api);
      report = api.onRequest ?? report;
    },
  };
};

type Respond = (request: IncomingMessage, matched: (match: Match) => void) => Promise<HttpResponse>;

const responder = (basePath: string, api: Api): Respond => {
  const route = createRouter(api.routes);
  return async (request, matched) => {
    if (headerBytes(request) > MAX_HEADER_BYTES) return gatewayMessage(431, 'Request Header Fields Too Large');
    const { path, query } = requestTarget(request);
    const relativePath = withoutBasePath(basePath, path);
    const match = relativePath === undefined ? undefined : route(request.method ?? '', relativePath);
    if (!match) return gatewayMessage(404, 'Not Found');
    matched(match);
    const body = await readBody(request, MAX_BODY_BYTES);
    const { localAddress, localPort } = request.socket;
    const event = JSON.stringify(httpApiEvent({ request, path, query, body, match }, `${localAddress}:${localPort}`));
    if (Buffer.byteLength(event) > MAX_PAYLOAD_BYTES) throw new BodyTooLargeError();
    const result = await withTimeout(api.invoke(match.route.functionName, event), timeLimitMs(match.route.timeoutMs));
    if (result === undefined || result.throttled) return SERVICE_UNAVAILABLE;
    return result.failed ? INTERNAL_SERVER_ERROR : httpResponse(result.payload);
  };
};

/**
 * Returns the path and query of the request line, which may contain an absolute URL. Throws a `URIError` if it is
 * malformed.
 */
const requestTarget = ({ url = '/', headers, httpVersion }: IncomingMessage): { path: string; query: string } => {
  if (httpVersion === '1.1' && headers.host === undefined) throw new URIError('The Host header is missing.');
  const [beforeQuery = '', ...query] = url.replace(/^https?:\/\/[^/?]*/i, '').split('?');
  const path = beforeQuery === '' ? '/' : beforeQuery;
  if (!path.startsWith('/')) throw new URIError('The request target is not a path.');
  decodeURIComponent(path);
  return { path, query: query.join('?') };
};

/** Returns the path relative to the base path, or undefined if the path is outside it. */
const withoutBasePath = (basePath: string, path: string): string | undefined => {
  if (path === basePath) return '/';
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : undefined;
};

const headerBytes = ({ method = '', url = '', rawHeaders }: IncomingMessage): number => {
  const line = method.length + url.length + ' '.length + ' HTTP/1.1\r\n'.length;
  return rawHeaders.reduce((total, part) => total + part.length + ': '.length, line);
};

const withTimeout = async (result: Promise<InvocationResult>, ms: number): Promise<InvocationResult | undefined> => {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  return Promise.race([result, timeout]).finally(() => clearTimeout(timer));
};

const errorResponse = (error: unknown): HttpResponse => {
  if (error instanceof URIError) return gatewayMessage(400, 'Bad Request');
  if (error instanceof BodyTooLargeError) return gatewayMessage(413, 'Request Entity Too Large');
  return INTERNAL_SERVER_ERROR;
};

const write = (request: IncomingMessage, response: ServerResponse, result: HttpResponse): void => {
  try {
    send(request, response, result);
  } catch {
    send(request, response, INTERNAL_SERVER_ERROR);
  }
};

/** Throws without sending anything if a header is invalid. */
const send = ({ method }: IncomingMessage, response: ServerResponse, { status, headers, body }: HttpResponse): void => {
  const mayHaveBody = status !== 204 && status !== 304;
  const length = mayHaveBody ? { 'content-length': Buffer.byteLength(body) } : {};
  response.writeHead(status, { ...headers, ...length, 'apigw-requestid': crypto.randomUUID() });
  response.end(mayHaveBody && method !== 'HEAD' ? body : undefined);
};

/** Responds to a request that the Node.js parser rejected. Only the socket exists at this point. */
const rejectMalformed = (error: NodeJS.ErrnoException, socket: Duplex): void => {
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
