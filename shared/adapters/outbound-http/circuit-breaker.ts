import type { EgressRule } from '../../domain/egress.ts';
import type { Clock } from '../../domain/time.ts';
import { createHttpClient, type HttpClient, RequestTimeoutError } from './http-client.ts';

/** The period in which sends are counted, in slots of a second. */
const WINDOW_SECONDS = 30;
const MIN_TIMEOUTS = 5;
/** A send that takes longer counts as a timeout, however it ends: it occupies the environment as long. */
const MAX_ANSWER_MS = 5_000;
/** The maximum time after the window for which a tenant that has not answered stays slow. */
const MAX_EXTENSION_MS = 90_000;

type Sends = { timeouts: number; answers: number };

const areSlow = ({ timeouts, answers }: Sends): boolean => timeouts >= MIN_TIMEOUTS && timeouts > answers;

/**
 * The slow tenants of an environment (docs/decisions/deliveries.md#slow-tenants): while five sends timed out in the
 * last 30 s, more than were answered, then, until an answer, for up to 90 s, at random so that environments try apart.
 */
export const createSlowTenants = (clock: Clock = Date.now, random: () => number = Math.random) => {
  /** The sends by slot, seconds since the epoch, oldest first. */
  const slots = new Map<number, Map<string, Sends>>();
  const slowUntilMs = new Map<string, number>();

  const dropExpired = (): void => {
    const nowMs = clock();
    const firstSlot = Math.floor(nowMs / 1000) - WINDOW_SECONDS + 1;
    for (const slot of slots.keys()) if (slot < firstSlot) slots.delete(slot);
    for (const [tenant, untilMs] of slowUntilMs) if (untilMs <= nowMs) slowUntilMs.delete(tenant);
  };

  const sendsOf = (tenant: string): Sends => {
    const found = [...slots.values()].flatMap((byTenant) => byTenant.get(tenant) ?? []);
    return {
      timeouts: found.reduce((sum, { timeouts }) => sum + timeouts, 0),
      answers: found.reduce((sum, { answers }) => sum + answers, 0),
    };
  };

  const record = (tenant: string, kind: keyof Sends): void => {
    dropExpired();
    const slot = Math.floor(clock() / 1000);
    const byTenant = slots.get(slot) ?? new Map<string, Sends>();
    slots.set(slot, byTenant);
    const counts = byTenant.get(tenant) ?? { timeouts: 0, answers: 0 };
    byTenant.set(tenant, { ...counts, [kind]: counts[kind] + 1 });
    const sends = sendsOf(tenant);
    if (areSlow(sends)) slowUntilMs.set(tenant, clock() + WINDOW_SECONDS * 1000 + random() * MAX_EXTENSION_MS);
    else if (sends.answers >= sends.timeouts) slowUntilMs.delete(tenant);
  };

  return {
    /** Counts a send as a timeout if it took more than 5 s, otherwise as an answer if there was a response. */
    async watch<Response>(tenant: string, send: () => Promise<Response>): Promise<Response> {
      const startedAtMs = clock();
      const isLate = () => clock() - startedAtMs > MAX_ANSWER_MS;
      try {
        const response = await send();
        record(tenant, isLate() ? 'timeouts' : 'answers');
        return response;
      } catch (error) {
        if (error instanceof RequestTimeoutError || isLate()) record(tenant, 'timeouts');
        throw error;
      }
    },

    isSlow(tenant: string): boolean {
      dropExpired();
      return slowUntilMs.has(tenant) || areSlow(sendsOf(tenant));
    },
  };
};

export type SlowTenants = ReturnType<typeof createSlowTenants>;

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
