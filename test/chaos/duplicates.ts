import { SEND_TIMEOUT_MS } from '../../shared/domain/transport.ts';

/**
 * A request may arrive this long after its sender was killed or stopped waiting. The local endpoint accepts one
 * connection per turn of its event loop, so a request on a new connection waits for seconds while the machine is busy.
 * Each call to SES or SNS opens a new connection.
 */
const MAX_ARRIVAL_DELAY_MS = 15_000;

/** An attempt in a delivery record, by the clock of this machine. */
export type RecordedAttempt = { timestamp_ms: number; duration_ms: number; result: string };

/** Why a destination received an alert again. */
export type DuplicateCause = 'kill' | 'timeout' | 'unexplained';

/** When a destination accepted an alert, and when it accepted it again, by the clock of this machine. */
export type AcceptedTwice = { firstAtMs: number; secondAtMs: number };

const covers = ({ timestamp_ms, duration_ms }: RecordedAttempt, atMs: number, toleranceMs = 0): boolean =>
  atMs >= timestamp_ms && atMs <= timestamp_ms + duration_ms + toleranceMs;

/**
 * Returns whether the request of an attempt that timed out may have arrived at this time, even during a later attempt.
 */
const hasTimedOut = (attempt: RecordedAttempt, atMs: number): boolean =>
  attempt.result !== 'delivered' &&
  attempt.duration_ms >= SEND_TIMEOUT_MS &&
  covers(attempt, atMs, MAX_ARRIVAL_DELAY_MS);

/**
 * Returns why a destination received an alert again:
 *
 * - `timeout`: it accepted the alert, but the sender received no response within the send timeout and recorded a
 *   failure. This takes precedence over the kill of another worker at that time.
 * - `kill`: a worker was killed, and no recorded failure covers the time. If the first delivery is on record, the
 *   request of the killed worker is the second one, which arrived late.
 * - `unexplained`: neither, or the sender recorded a failure although the destination accepted the alert in time, or two
 *   deliveries are on record.
 *
 * All times are those of this machine, because the run advances the clock of the stack while requests are on their way.
 *
 * @param killsMs when workers were killed that may have sent the alert, in ms since the epoch
 */
export const duplicateCause = (
  { firstAtMs, secondAtMs }: AcceptedTwice,
  attempts: readonly RecordedAttempt[],
  killsMs: readonly number[],
): DuplicateCause => {
  if (attempts.filter(({ result }) => result === 'delivered').length > 1) return 'unexplained';
  if (attempts.some((attempt) => hasTimedOut(attempt, firstAtMs) || hasTimedOut(attempt, secondAtMs))) return 'timeout';
  const recorded = attempts.find((attempt) => covers(attempt, firstAtMs));
  if (recorded && recorded.result !== 'delivered') return 'unexplained';
  const fromMs = (recorded ? secondAtMs : firstAtMs) - MAX_ARRIVAL_DELAY_MS;
  return killsMs.some((atMs) => atMs >= fromMs && atMs <= secondAtMs) ? 'kill' : 'unexplained';
};
