import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import type { Clock } from '../../domain/clock.ts';
import type { EgressRule } from '../../domain/egress.ts';
import type { HttpResponse } from '../../domain/http-outcome.ts';
import { SEND_TIMEOUT_MS } from '../../domain/transport.ts';
import { BlockedAddressError, type Resolve, ssrfSafeLookup, systemResolve } from './ssrf-safe-lookup.ts';

/** A POST to a user's URL. */
export type HttpPost = {
  url: URL;
  headers: Record<string, string>;
  body: string;
  /** True where the answer's body decides the outcome; otherwise its status does, and nobody waits for more. */
  readBody?: boolean;
  /** The most that it may take, in ms. */
  timeoutMs?: number;
};

/** The deadline of a send passed. */
export class RequestTimeoutError extends Error {
  override readonly name = 'RequestTimeoutError';
}

/** The connection was closed without an answer. */
export class ConnectionClosedError extends Error {
  override readonly name = 'ConnectionClosedError';
  readonly code = 'ECONNCLOSED';
}

/** The most that is read of an answer, in bytes. */
const MAX_BODY = 64 * 1024;
/**
 * How long an idle socket is kept, in ms: receivers close theirs too. A sandbox that was frozen meanwhile runs no timers, so
 * after a longer pause all agents are made anew.
 */
const MAX_IDLE = 2_000;
/** How long one address may take to connect before the next is tried, in ms. */
const NEXT_ADDRESS_AFTER = 3_000;

/** The host of a URL as an address: in a URL every notation of IPv4 is normalised (WHATWG URL), IPv6 stands in brackets. */
const literalAddress = ({ hostname }: URL): string | undefined => {
  const host = hostname.replace(/^\[|\]$/g, '');
  return isIP(host) ? host : undefined;
};

const readAtMost = (response: http.IncomingMessage): Promise<string> =>
  new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    response.on('data', (part: Buffer) => {
      parts.push(part);
      bytes += part.length;
      if (bytes >= MAX_BODY) resolve(Buffer.concat(parts).subarray(0, MAX_BODY).toString('utf8'));
    });
    response.on('end', () => resolve(Buffer.concat(parts).toString('utf8')));
    response.on('error', reject);
    response.on('close', () => reject(new ConnectionClosedError()));
  });

/** Lets a short rest of the answer pass, so that its connection can be used again, and cuts off a long one. */
const drain = (response: http.IncomingMessage): void => {
  let bytes = 0;
  response.on('error', () => undefined);
  response.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes > MAX_BODY) response.destroy();
  });
};

/**
 * The client for users' URLs: one deadline over everything, the egress rule on every address, no redirect followed, no proxy
 * taken from the environment, bodies never unpacked.
 */
export const createHttpClient = ({
  isAllowed,
  resolve = systemResolve,
  deadline: longest = SEND_TIMEOUT_MS,
  clock = Date.now,
}: {
  isAllowed: EgressRule;
  resolve?: Resolve;
  deadline?: number;
  clock?: Clock;
}) => {
  const lookup = ssrfSafeLookup(isAllowed, resolve);
  const newAgents = () => {
    const options = {
      keepAlive: true,
      maxFreeSockets: 64,
      lookup,
      autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER,
      timeout: MAX_IDLE,
    };
    return { 'http:': new http.Agent(options), 'https:': new https.Agent(options) };
  };
  let agents = newAgents();
  let lastStart = clock();

  const freshAgents = () => {
    const now = clock();
    if (now - lastStart > MAX_IDLE) {
      // Only idle sockets: an answer that nobody waits for may still be coming in on another one.
      for (const { freeSockets } of Object.values(agents)) {
        for (const socket of Object.values(freeSockets).flat()) socket?.destroy();
      }
      agents = newAgents();
    }
    lastStart = now;
    return agents;
  };

  /**
   * Sends a request. The answer's `body` is its first 64 KB, or empty where it was not asked for.
   *
   * @throws BlockedAddressError, RequestTimeoutError, or the network's own error with its `code`
   */
  const post = ({ url, headers, body, readBody = false, timeoutMs = longest }: HttpPost): Promise<HttpResponse> =>
    new Promise((resolveAnswer, reject) => {
      const literal = literalAddress(url);
      if (literal !== undefined && !isAllowed(literal)) throw new BlockedAddressError(true);
      const secure = url.protocol === 'https:';
      const request = (secure ? https : http).request(url, {
        method: 'POST',
        agent: freshAgents()[secure ? 'https:' : 'http:'],
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      });
      let answered = false;
      const timer = setTimeout(() => request.destroy(new RequestTimeoutError()), timeoutMs);
      request.on('close', () => {
        clearTimeout(timer);
        // Also where nothing else was said: an answer that switches protocols closes without error or response.
        if (!answered) reject(new ConnectionClosedError());
      });
      request.on('error', reject);
      request.on('response', (response) => {
        answered = true;
        const answer = { status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] };
        if (readBody) {
          readAtMost(response).then((text) => {
            resolveAnswer({ ...answer, body: text });
            response.destroy();
          }, reject);
        } else {
          drain(response);
          resolveAnswer({ ...answer, body: '' });
        }
      });
      request.end(body);
    });

  return { post };
};

/** The client for users' URLs. */
export type HttpClient = ReturnType<typeof createHttpClient>;
