import type { Failure } from './attempt-outcome.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from './time.ts';

const SECOND_MS = 1_000;

/** Before attempts 2 to 9 (docs/decisions/deliveries.md#attempts-and-retry-schedule). */
const RETRY_DELAYS_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
] as const;

export const MAX_ATTEMPTS = RETRY_DELAYS_MS.length + 1;

/** How long the attempts of a round take. */
export const RETRY_HOURS = Math.round(RETRY_DELAYS_MS.reduce((sum, delayMs) => sum + delayMs, 0) / HOUR_MS);

/** After the first attempt of a round, it expires. */
export const MAX_AGE_MS = 24 * HOUR_MS;

/** After the start of a round without an attempt, it expires: the retention period of its message. */
export const MAX_WAIT_FOR_ATTEMPT_MS = 4 * DAY_MS;

/** A fraction of the delay. It only adds, because `Retry-After` is a minimum. */
const MAX_JITTER = 0.2;

/** Deliveries that failed together are not retried together. */
const withJitter = (delayMs: number, scale: number, random: () => number): number =>
  Math.ceil(delayMs * scale * (1 + MAX_JITTER * random()));

/**
 * The scheduled delay, or the requested one if that is longer; undefined after a permanent failure and the last
 * attempt. @param attemptCount attempts of this round, including the failed one
 */
export const retryDelayMs = (
  attemptCount: number,
  { result, retryAfterMs = 0, countsAsAttempt = true }: Failure,
  scale: number,
  random: () => number = Math.random,
): number | undefined => {
  if (result === 'permanent') return undefined;
  if (!countsAsAttempt) return withJitter(retryAfterMs, scale, random);
  const scheduledMs = RETRY_DELAYS_MS[attemptCount - 1];
  return scheduledMs && withJitter(Math.max(scheduledMs, retryAfterMs), scale, random);
};

/** Receives with a delay of at most 90 s. */
const MAX_SHORT_RECEIVES = 30;

/**
 * 2, 4, 8 ... 64 s, then 90 s up to receive 30, so that every period of the alarms has data points and processing
 * resumes soon. Then 15 min: an outage of 18 hours must not exhaust `maxReceiveCount`
 * (docs/decisions/deliveries.md#internal-errors).
 */
export const internalErrorDelayMs = (receiveCount: number, scale: number): number =>
  Math.ceil((receiveCount > MAX_SHORT_RECEIVES ? 15 * MINUTE_MS : Math.min(2 ** receiveCount, 90) * SECOND_MS) * scale);
