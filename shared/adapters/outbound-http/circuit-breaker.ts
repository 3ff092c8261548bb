import type { EgressRule } from '../../domain/egress.ts';
import type { Clock } from '../../domain/time.ts';
import { createHttpClient, type HttpClient, RequestTimeoutError } from './http-client.ts';
import type { SlowTenants } from './slow-tenants.ts';

export class CircuitOpenError extends Error {
  override readonly name = 'CircuitOpenError';
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    super('The circuit is open.');
    this.retryAfterMs = retryAfterMs;
  }
}

const WINDOW_MS = 30_000;
const MAX_TIMEOUTS = 2;

type Timeout = { tenant: string; origin: string; atMs: number };

/**
 * Circuit breakers of an execution environment (docs/decisions/deliveries.md#circuit-breaker), one per tenant and
 * origin: a path that hangs costs two timeouts instead of ten per batch. A response closes the circuit.
 */
export const withCircuitBreaker = (http: HttpClient, clock: Clock = Date.now): HttpClient => {
  /** In the order of their times. 100 concurrent requests with timeouts of 15 s: at most 300. */
  let timeouts: readonly Timeout[] = [];

  return {
    async post(request) {
      const { circuitTenant: tenant, url } = request;
      if (tenant === undefined) return http.post(request);
      const { origin } = url;
      const isOfCircuit = (timeout: Timeout): boolean => timeout.tenant === tenant && timeout.origin === origin;
      const dropExpired = (): void => {
        const windowStartMs = clock() - WINDOW_MS;
        timeouts = timeouts.filter(({ atMs }) => atMs > windowStartMs);
      };
      dropExpired();
      const opening = timeouts.filter(isOfCircuit).at(-MAX_TIMEOUTS);
      if (opening) throw new CircuitOpenError(opening.atMs + WINDOW_MS - clock());
      try {
        const response = await http.post(request);
        if (timeouts.length > 0) timeouts = timeouts.filter((timeout) => !isOfCircuit(timeout));
        return response;
      } catch (error) {
        if (error instanceof RequestTimeoutError) {
          dropExpired();
          timeouts = [...timeouts, { tenant, origin, atMs: clock() }];
        }
        throw error;
      }
    },
  };
};

export const createOutboundClient = (isAllowed: EgressRule, slowTenants: SlowTenants): HttpClient => {
  const http = createHttpClient({ isAllowed });
  return withCircuitBreaker({
    post(request) {
      const { circuitTenant: tenant } = request;
      return tenant === undefined ? http.post(request) : slowTenants.watch(tenant, () => http.post(request));
    },
  });
};
