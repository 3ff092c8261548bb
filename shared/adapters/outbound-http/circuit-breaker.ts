import { lru } from 'tiny-lru';
import type { Clock } from '../../domain/clock.ts';
import type { EgressRule } from '../../domain/egress.ts';
import { createHttpClient, type HttpClient, RequestTimeoutError } from './http-client.ts';

/** An origin has missed the deadline again and again: for now it is not even dialled. */
export class CircuitOpenError extends Error {
  override readonly name = 'CircuitOpenError';
  /** Milliseconds until it is tried again. */
  readonly wait: number;

  constructor(wait: number) {
    super('the origin is paused');
    this.wait = wait;
  }
}

/** Misses within this time make a pause, and a pause lasts as long after the last of them, in ms. */
const WINDOW = 30_000;
/** Misses that make a pause (design 3, Isolation). */
const MISSES = 2;

/**
 * Lets an origin that hangs cost its deadline twice, not ten times a batch for hours: after two misses within 30 s a sandbox
 * does not dial it for the rest of that time. One that answers is forgiven at once.
 */
export const withCircuitBreaker = (http: HttpClient, clock: Clock = Date.now): HttpClient => {
  const missesOf = lru<number[]>(1_000);
  return {
    async post(request) {
      const { origin } = request.url;
      const since = clock() - WINDOW;
      const misses = (missesOf.get(origin) ?? []).filter((at) => at > since);
      const last = misses.at(-1);
      if (last !== undefined && misses.length >= MISSES) throw new CircuitOpenError(last - since);
      try {
        const answer = await http.post(request);
        missesOf.delete(origin);
        return answer;
      } catch (error) {
        if (error instanceof RequestTimeoutError)
          missesOf.set(origin, [...(missesOf.get(origin) ?? []), clock()].slice(-MISSES));
        throw error;
      }
    },
  };
};

/** The client by which senders reach destinations: only allowed addresses, and no origin that hangs again and again. */
export const createOutboundClient = (isAllowed: EgressRule): HttpClient =>
  withCircuitBreaker(createHttpClient({ isAllowed }));
