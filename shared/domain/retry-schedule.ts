import type { Failure } from './attempt-outcome.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The waits before the second to the ninth attempt, in ms (design 3, Attempts). */
const WAITS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR] as const;

/** Attempts of one round: the first at once, then one after each wait. */
export const MAX_ATTEMPTS = WAITS.length + 1;

/** A delivery that is not done this long after the first attempt of its round is given up, in ms. */
export const MAX_AGE_MS = 24 * HOUR;

/** A delivery that could not be attempted at all for so long is given up, in ms: SQS keeps its message no longer. */
export const MAX_WAIT_FOR_ATTEMPT_MS = 4 * 24 * HOUR;

/** Upwards only, so that nobody is called earlier than the schedule or the destination says. */
const JITTER = 0.2;

/** Without jitter all that failed together would come again together. */
const jittered = (wait: number, scale: number, random: () => number): number =>
  Math.ceil(wait * scale * (1 + JITTER * random()));

/**
 * How long to wait after a failure, in ms: the longer of the schedule and what the destination asks for; undefined where
 * the failure is permanent or no attempt is left.
 *
 * @param attempts those of this round, the failed one included
 * @param scale shortens all waits, for tests
 */
export const retryDelayMs = (
  attempts: number,
  { result, retryAfterMs = 0, countsAsAttempt = true }: Failure,
  scale: number,
  random: () => number = Math.random,
): number | undefined => {
  if (result === 'permanent') return undefined;
  if (!countsAsAttempt) return jittered(retryAfterMs, scale, random);
  const wait = WAITS[attempts - 1];
  return wait && jittered(Math.max(wait, retryAfterMs), scale, random);
};

/** Receives after which a failure of ours is no short one any more. */
const SHORT_RECEIVES = 30;

/**
 * Seconds to wait after a failure of ours, by the number of times that the message was received: 2, 4, 8 ... 64, then 90 for
 * the first 40 minutes, so that metrics show the failure in every period and messages follow soon after it; then 900, so that
 * an outage of 18 hours does not use up the receives of a queue.
 */
export const internalErrorDelaySeconds = (receiveCount: number, scale: number): number =>
  Math.ceil((receiveCount > SHORT_RECEIVES ? 900 : Math.min(2 ** receiveCount, 90)) * scale);
