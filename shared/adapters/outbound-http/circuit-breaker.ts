import type { Clock } from '../../domain/clock.ts';
import type { EgressRule } from '../../domain/egress.ts';
import { createHttpClient, type HttpClient, RequestTimeoutError } from './http-client.ts';

/** A circuit is open: the request was not sent. */
export class CircuitOpenError extends Error {
  override readonly name = 'CircuitOpenError';
  /** Milliseconds until the circuit closes. */
  readonly retryAfterMs: number;
  /** True if the origin has not timed out for this tenant often enough to open its own circuit. */
  readonly causedByOtherTenants: boolean;

  constructor(retryAfterMs: number, causedByOtherTenants: boolean) {
    super('The circuit is open.');
    this.retryAfterMs = retryAfterMs;
    this.causedByOtherTenants = causedByOtherTenants;
  }
}

/** The period in which timeouts open a circuit. Earlier timeouts are ignored. */
const WINDOW_MS = 30_000;
/** The number of timeouts of a tenant that open its circuit of an origin. */
const MAX_TIMEOUTS = 2;
/** The number of tenants whose timeouts open the circuit of an origin for all tenants. */
const MAX_TENANTS = 3;

type Timeout = {
  tenant: string;
  origin: string;
  atMs: number;
  /** False once the origin has responded to another tenant: it responds to some requests. */
  countsForOrigin: boolean;
};

/** Returns when fewer than `count` of these times are in the window, or 0 if there are fewer. */
const closesAtMs = (timesMs: readonly number[], count: number): number => {
  const timeMs = timesMs.toSorted((first, second) => first - second).at(-count);
  return timeMs === undefined ? 0 : timeMs + WINDOW_MS;
};

/** Returns when the circuit of a tenant closes, given the timeouts of the origin. */
const tenantClosesAtMs = (ofOrigin: readonly Timeout[], tenant: string): number =>
  closesAtMs(
    ofOrigin.filter((timeout) => timeout.tenant === tenant).map(({ atMs }) => atMs),
    MAX_TIMEOUTS,
  );

/** Returns when the circuit of an origin closes, given its timeouts in the order of their times. */
const originClosesAtMs = (ofOrigin: readonly Timeout[]): number => {
  const counted = ofOrigin.filter(({ countsForOrigin }) => countsForOrigin);
  const lastByTenant = new Map(counted.map(({ tenant, atMs }) => [tenant, atMs]));
  return closesAtMs([...lastByTenant.values()], MAX_TENANTS);
};

/**
 * Adds circuit breakers, kept by each execution environment: one per tenant and origin, and one per origin. While a
 * circuit is open, requests fail at once, so that a path that hangs costs two timeouts instead of ten per batch. Two
 * timeouts of a tenant within 30 s open its circuit, timeouts of three tenants that of the origin. A circuit closes
 * once fewer are in the last 30 s. A response also closes the circuit of its tenant and that of the origin, but not
 * those of other tenants, whose paths may still hang. There is no half-open state. Requests without a tenant neither
 * use nor change a circuit. See docs/decisions/deliveries.md#circuit-breaker.
 */
export const withCircuitBreaker = (http: HttpClient, clock: Clock = Date.now): HttpClient => {
  /**
   * The timeouts of the last 30 s of all tenants. Nothing needs to be evicted: an execution environment sends at most
   * 100 requests at a time, and each timeout takes 15 s, so there are at most 300.
   */
  let timeouts: readonly Timeout[] = [];

  const recentTimeouts = (): Timeout[] => {
    const windowStartMs = clock() - WINDOW_MS;
    return timeouts.filter(({ atMs }) => atMs > windowStartMs);
  };

  const recordResponse = (tenant: string, origin: string): void => {
    timeouts = timeouts
      .filter((timeout) => timeout.origin !== origin || timeout.tenant !== tenant)
      .map((timeout) => (timeout.origin === origin ? { ...timeout, countsForOrigin: false } : timeout));
  };

  return {
    async post(request) {
      const { circuitTenant: tenant, url } = request;
      if (tenant === undefined) return http.post(request);
      const { origin } = url;
      const ofOrigin = recentTimeouts().filter((timeout) => timeout.origin === origin);
      const nowMs = clock();
      const tenantWaitMs = tenantClosesAtMs(ofOrigin, tenant) - nowMs;
      const waitMs = Math.max(tenantWaitMs, originClosesAtMs(ofOrigin) - nowMs);
      if (waitMs > 0) throw new CircuitOpenError(waitMs, tenantWaitMs <= 0);
      try {
        const response = await http.post(request);
        if (timeouts.length > 0) recordResponse(tenant, origin);
        return response;
      } catch (error) {
        if (error instanceof RequestTimeoutError) {
          timeouts = [...recentTimeouts(), { tenant, origin, atMs: clock(), countsForOrigin: true }];
        }
        throw error;
      }
    },
  };
};

/** Creates the HTTP client of the senders: it reaches allowed addresses only, and has circuit breakers. */
export const createOutboundClient = (isAllowed: EgressRule): HttpClient =>
  withCircuitBreaker(createHttpClient({ isAllowed }));
