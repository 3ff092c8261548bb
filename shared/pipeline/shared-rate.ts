import { withRetries } from '../adapters/waiting.ts';
import type { AttemptOutcome } from '../domain/attempt-outcome.ts';
import type { Clock } from '../domain/time.ts';
import { MIN_TIME_TO_SEND_MS } from '../domain/timeouts.ts';
import type { Alert } from '../domain/transport.ts';

/** Sends are counted for one to two periods: short, so that a burst counts at once beside another's steady sends. */
const PERIOD_MS = 2_000;
/** The smallest share, in sends: a tenant that nobody else shares an execution environment with may send so few. */
const MIN_SHARE = 4;
/** The time after a throttled send in which AWS counts as throttling. */
const THROTTLED_MS = 10_000;
/** The maximum time from the first send of a message to its last one in place. */
const MAX_WAIT_MS = 10_000;
/** The same for a test: the API waits 25 s for these, a send of 15 s, and a cold start. */
const MAX_TEST_WAIT_MS = 5_000;
/** The mean delay before the second send in place. Each following one is twice as long. */
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 400;

type SharedRateOptions = {
  clock?: Clock;
  sleep?: (delayMs: number) => Promise<unknown>;
  random?: () => number;
};

/** Returns whether AWS throttled a send, and certainly sent nothing. A daily quota has another reason. */
const isThrottled = (outcome: AttemptOutcome): boolean =>
  outcome.result === 'throttled' && outcome.reason === 'throttled' && outcome.nothingSent === true;

/**
 * The fair use of a rate of SES or SNS (docs/decisions/deliveries.md#shared-rate). A share is the sends of the last 2
 * to 4 s divided by their tenants, at least four. A single tenant has half, because others use other environments.
 */
export const createSharedRate = ({ clock = Date.now, sleep, random = Math.random }: SharedRateOptions = {}) => {
  let period = 0;
  let current = new Map<string, number>();
  let previous = new Map<string, number>();
  let throttledUntilMs = 0;

  const startPeriod = (): void => {
    const now = Math.floor(clock() / PERIOD_MS);
    if (now === period) return;
    previous = now === period + 1 ? current : new Map();
    current = new Map();
    period = now;
  };

  const countSend = (tenant: string): void => {
    startPeriod();
    current.set(tenant, (current.get(tenant) ?? 0) + 1);
  };

  /** Returns by how many sends a tenant is above its share, or below it if negative. */
  const excessOf = (tenant: string): number => {
    startPeriod();
    const tenants = new Set([...current.keys(), ...previous.keys()]);
    const total = [...current.values(), ...previous.values()].reduce((sum, count) => sum + count, 0);
    const own = (current.get(tenant) ?? 0) + (previous.get(tenant) ?? 0);
    return own - Math.max(total / Math.max(tenants.size, 2), MIN_SHARE);
  };

  return {
    /** While AWS throttles it and the tenant is below its share, sends it again while there is time. */
    async send(alert: Alert, sendOnce: () => Promise<AttemptOutcome>): Promise<AttemptOutcome> {
      const { event, notificationId, timeLeft } = alert;
      const { tenant_id: tenant } = event;
      const untilMs = clock() + (notificationId === undefined ? MAX_TEST_WAIT_MS : MAX_WAIT_MS);
      countSend(tenant);
      const delayAfter = (sent: PromiseSettledResult<AttemptOutcome>, attempts: number): number | undefined => {
        if (sent.status === 'rejected' || !isThrottled(sent.value)) return undefined;
        throttledUntilMs = clock() + THROTTLED_MS;
        const waitMs = Math.min(FIRST_DELAY_MS * 2 ** (attempts - 1), MAX_DELAY_MS) * (0.5 + random());
        const hasTime = clock() + waitMs <= untilMs && timeLeft() - waitMs >= MIN_TIME_TO_SEND_MS;
        if (!hasTime || excessOf(tenant) >= 0) return undefined;
        return waitMs;
      };
      return withRetries(sendOnce, delayAfter, sleep);
    },

    /** Returns whether AWS throttles this execution environment and a tenant is above its share. */
    isSlow: (tenant: string): boolean => clock() < throttledUntilMs && excessOf(tenant) > 0,
  };
};

export type SharedRate = ReturnType<typeof createSharedRate>;
