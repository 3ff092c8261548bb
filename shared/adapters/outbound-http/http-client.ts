import http from 'node:http';
import https from 'node:https';
import { type EgressRule, literalAddress } from '../../domain/egress.ts';
import { errorCode } from '../../domain/failure-text.ts';
import type { HttpResponse } from '../../domain/http-outcome.ts';
import type { Clock } from '../../domain/time.ts';
import { SEND_TIMEOUT_MS } from '../../domain/timeouts.ts';
import { FirstBytes, MAX_HEAD_BYTES, readHead } from './response-head.ts';
import { BlockedAddressError, type Resolve, ssrfSafeLookup, systemResolve } from './ssrf-safe-lookup.ts';

export type HttpPost = {
  url: URL;
  headers: Record<string, string>;
  body: string;
  /** True to wait for the body of a 2xx response. Default: false, and the promise resolves with its status. */
  readBody?: boolean;
  /** The maximum time from the DNS lookup to the end of the response. Default: the timeout of the client. */
  timeoutMs?: number;
  /** Whose circuit applies, and for whom it counts (`createSlowTenants`). Absent in a test and a heartbeat. */
  circuitTenant?: string | undefined;
};

export class RequestTimeoutError extends Error {
  override readonly name = 'RequestTimeoutError';
}

/** The connection was closed without a complete response. */
export class ConnectionClosedError extends Error {
  override readonly name = 'ConnectionClosedError';
  readonly code = 'ECONNCLOSED';
}

/** A reused connection was closed or reset before the first byte of the response. */
class StaleConnectionError extends Error {
  override readonly name = 'StaleConnectionError';
}

/** More than 64 KB arrived before the end of the headers. */
class HeadTooLongError extends Error {
  override readonly name = 'HeadTooLongError';
  readonly code = 'HPE_HEADER_OVERFLOW';
}

/** How long the body of a response that is not 2xx may take. */
const FAILED_BODY_TIMEOUT_MS = 2_000;
/** Receivers close idle connections too. A frozen environment runs no timers, so agents are replaced after a pause. */
const MAX_IDLE_MS = 2_000;
/** How long a connection attempt to one address may take before the next address is tried. */
const CONNECT_ATTEMPT_TIMEOUT_MS = 3_000;

/** Returns the text of a body in its charset, UTF-8 by default. A compressed body has none. */
const textOf = (body: Buffer, { headers }: http.IncomingMessage): string => {
  if (!/^(identity)?$/i.test(headers['content-encoding'] ?? '')) return '';
  const [, charset = 'utf-8'] = /charset="?([\w.:-]{1,40})/i.exec(headers['content-type'] ?? '') ?? [];
  try {
    return new TextDecoder(charset).decode(body);
  } catch {
    return body.toString('utf8');
  }
};

const readBodyStart = (response: http.IncomingMessage): Promise<string> =>
  new Promise((resolve, reject) => {
    const received = new FirstBytes();
    const end = (): void => resolve(textOf(received.bytes, response));
    response.on('data', (chunk: Buffer) => {
      received.add(chunk);
      if (received.isFull) end();
    });
    response.on('end', end);
    response.on('error', reject);
    response.on('close', () => reject(new ConnectionClosedError()));
  });

/** Empty if it is not complete in time, because the end of an incomplete body could be a part of a secret. */
const readBodyWithin = async (
  request: http.ClientRequest,
  response: http.IncomingMessage,
  timeoutMs: number,
): Promise<string> => {
  request.removeAllListeners('error').on('error', () => undefined);
  const timer = setTimeout(() => response.destroy(), timeoutMs);
  try {
    return await readBodyStart(response);
  } catch {
    return '';
  } finally {
    clearTimeout(timer);
    response.destroy();
  }
};

/** Discards the rest of a response: up to 64 KB, so that its connection can be reused, or closes the connection. */
const discardBody = (response: http.IncomingMessage): void => {
  let bytes = 0;
  response.on('error', () => undefined);
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_HEAD_BYTES) response.destroy();
  });
};

/** Returns whether a connection was closed or reset, which is no timeout. */
const isClosed = (error: unknown): boolean =>
  error instanceof ConnectionClosedError || ['ECONNRESET', 'EPIPE'].includes(errorCode(error) ?? '');

type Agents = Readonly<Record<'http:' | 'https:', http.Agent>>;

/** Sends a request on one connection. @throws StaleConnectionError, and the errors of `post` */
const exchange = (
  { url, headers, body, readBody = false }: HttpPost,
  agents: Agents,
  timeoutMs: number,
): Promise<HttpResponse> =>
  new Promise((resolve, reject) => {
    const isHttps = url.protocol === 'https:';
    const request = (isHttps ? https : http).request(url, {
      method: 'POST',
      agent: agents[isHttps ? 'https:' : 'http:'],
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      maxHeaderSize: MAX_HEAD_BYTES,
    });
    const startedAtMs = performance.now();
    const timer = setTimeout(() => request.destroy(new RequestTimeoutError()), timeoutMs);
    // 64 KB of headers may be more than 2,000 lines.
    request.maxHeadersCount = 0;
    const received = new FirstBytes();
    let stopReceiving = (): void => undefined;
    request.on('socket', (socket) => {
      const receive = (chunk: Buffer): void => received.add(chunk);
      // Interim responses may never end.
      const endIfFull = (): void => {
        if (received.isFull && !hasResponse) request.destroy(new HeadTooLongError());
      };
      // Before the parser, which ends the request while it reads the chunk that it cannot parse.
      socket.prependListener('data', receive);
      socket.on('data', endIfFull);
      stopReceiving = () => void socket.removeListener('data', receive).removeListener('data', endIfFull);
    });
    let hasResponse = false;
    /** The status line that arrived decides, if there is one. */
    const endWithoutResponse = (error: Error): void => {
      const head = readHead(received.bytes);
      if (head) resolve({ ...head, body: '' });
      else if (request.reusedSocket && received.isEmpty && isClosed(error)) reject(new StaleConnectionError());
      else reject(error);
    };
    request.on('error', endWithoutResponse);
    request.on('close', () => {
      clearTimeout(timer);
      // A 101 response (protocol switch) closes the connection without an `error` or `response` event.
      if (!hasResponse) endWithoutResponse(new ConnectionClosedError());
      stopReceiving();
    });
    request.on('response', (response) => {
      hasResponse = true;
      const { statusCode: status = 0, headers: responseHeaders } = response;
      const head = { status, retryAfter: responseHeaders['retry-after'] || undefined };
      const isSuccess = status >= 200 && status <= 299;
      stopReceiving();
      if (isSuccess && !readBody) {
        discardBody(response);
        resolve({ ...head, body: '' });
        return;
      }
      clearTimeout(timer);
      const remainingMs = Math.max(0, timeoutMs - (performance.now() - startedAtMs));
      readBodyWithin(request, response, isSuccess ? remainingMs : Math.min(remainingMs, FAILED_BODY_TIMEOUT_MS)).then(
        (text) => resolve({ ...head, body: text }),
      );
    });
    request.end(body);
  });

/** The HTTP client of the senders (docs/decisions/outbound.md#outbound-http): one timeout, no redirects, no proxy. */
export const createHttpClient = ({
  isAllowed,
  resolve = systemResolve,
  timeoutMs: defaultTimeoutMs = SEND_TIMEOUT_MS,
  clock = Date.now,
}: {
  isAllowed: EgressRule;
  resolve?: Resolve;
  timeoutMs?: number;
  clock?: Clock;
}) => {
  const lookup = ssrfSafeLookup(isAllowed, resolve);
  const createAgents = (keepAlive: boolean): Agents => {
    const options = {
      keepAlive,
      maxFreeSockets: 64,
      lookup,
      autoSelectFamilyAttemptTimeout: CONNECT_ATTEMPT_TIMEOUT_MS,
      timeout: MAX_IDLE_MS,
    };
    return { 'http:': new http.Agent(options), 'https:': new https.Agent(options) };
  };
  const agentsOfNewConnections = createAgents(false);
  let agents = createAgents(true);
  let lastRequestAtMs = clock();

  const currentAgents = () => {
    const nowMs = clock();
    if (nowMs - lastRequestAtMs > MAX_IDLE_MS) {
      // Destroys idle sockets only: another one may still be discarding a response body.
      for (const { freeSockets } of Object.values(agents)) {
        for (const socket of Object.values(freeSockets).flat()) socket?.destroy();
      }
      agents = createAgents(true);
    }
    lastRequestAtMs = nowMs;
    return agents;
  };

  /**
   * Sends a request, and again on a new connection if the receiver had closed an idle one. The `body` of the response
   * is its first 64 KB, empty if it is incomplete, or 2xx without `readBody`. The status line decides
   * (docs/decisions/formats.md#http-outcomes). @throws BlockedAddressError, RequestTimeoutError, ConnectionClosedError,
   * or the network error with its `code`
   */
  const post = async (request: HttpPost): Promise<HttpResponse> => {
    const { url, timeoutMs = defaultTimeoutMs } = request;
    const literal = literalAddress(url);
    if (literal !== undefined && !isAllowed(literal)) throw new BlockedAddressError(true);
    const startedAtMs = performance.now();
    try {
      return await exchange(request, currentAgents(), timeoutMs);
    } catch (error) {
      if (!(error instanceof StaleConnectionError)) throw error;
      const remainingMs = Math.max(0, timeoutMs - (performance.now() - startedAtMs));
      const response = await exchange(request, agentsOfNewConnections, remainingMs).catch((failure: unknown) => {
        // The first request may have arrived, unlike one to an address that is refused.
        throw failure instanceof BlockedAddressError ? new ConnectionClosedError() : failure;
      });
      return { ...response, wasResent: true };
    }
  };

  return { post };
};

export type HttpClient = ReturnType<typeof createHttpClient>;
