import { lru } from 'tiny-lru';
import type { Clock } from '../../domain/clock.ts';
import type { EgressRule } from '../../domain/egress.ts';
import { createHttpClient, type HttpClient, RequestTimeoutError } from './http-client.ts';

/** The circuit of the origin is open: the request was not sent. */
export class CircuitOpenError extends Error {
  override readonly name = 'CircuitOpenError';
  /** Milliseconds until the circuit closes. */
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    super('The circuit of the origin is open.');
    this.retryAfterMs = retryAfterMs;
  }
}

/** The period in which timeouts open the circuit. Earlier timeouts are ignored. */
const WINDOW_MS = 30_000;
/** The number of timeouts that open the circuit. */
const MAX_TIMEOUTS = 2;

/**
 * Adds a circuit breaker per origin, kept by each execution environment. Two timeouts within 30 s open the circuit:
 * requests fail at once, so that a hanging origin costs two timeouts instead of ten per batch. The circuit closes once
 * fewer than two timeouts are in the last 30 s, or with any response to a request still in flight. There is no
 * half-open state. See DECISIONS.md#circuit-breaker.
 */
export const withCircuitBreaker = (http: HttpClient, clock: Clock = Date.now): HttpClient => {
  const timeoutsByOrigin = lru<number[]>(1_000);
  return {
    async post(request) {
      const { origin } = request.url;
      const windowStartMs = clock() - WINDOW_MS;
      const recentTimeoutsMs = (timeoutsByOrigin.get(origin) ?? []).filter(
        (timeoutAtMs) => timeoutAtMs > windowStartMs,
      );
      const [firstTimeoutAtMs] = recentTimeoutsMs;
      if (firstTimeoutAtMs !== undefined && recentTimeoutsMs.length >= MAX_TIMEOUTS) {
        throw new CircuitOpenError(firstTimeoutAtMs - windowStartMs);
      }
      try {
        const response = await http.post(request);
        timeoutsByOrigin.delete(origin);
        return response;
      } catch (error) {
        if (error instanceof RequestTimeoutError) {
          timeoutsByOrigin.set(origin, [...(timeoutsByOrigin.get(origin) ?? []), clock()].slice(-MAX_TIMEOUTS));
        }
        throw error;
      }
    },
  };
};

/** Creates the HTTP client of the senders: it reaches allowed addresses only, and has a circuit breaker. */
export const createOutboundClient = (isAllowed: EgressRule): HttpClient =>
  withCircuitBreaker(createHttpClient({ isAllowed }));
