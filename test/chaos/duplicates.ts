import { SEND_TIMEOUT_MS } from '../../shared/domain/transport.ts';

/**
 * A request may arrive this long after its sender was killed or stopped waiting. The local endpoint accepts one
 * connection per turn of its event loop, so a request on a new connection waits for seconds while the machine is busy.
 * Each call to SES or SNS opens a new connection.
 */
export const MAX_ARRIVAL_DELAY_MS = 15_000;

/** An attempt in a delivery record, by the clock of this machine. */
export type RecordedAttempt = { timestamp_ms: number; duration_ms: number; result: string };

/** Why a destination received an alert again. */
export type DuplicateCause = 'kill' | 'timeout' | 'unexplained';

/**
 * Returns why a destination received an alert again:
 *
 * - `timeout`: it accepted the alert, but the sender received no response within the send timeout and recorded a
 *   failure. This takes precedence over the kill of another worker at that time.
 * - `kill`: a worker was killed, and no recorded failure covers the time.
 * - `unexplained`: neither, or the sender recorded a failure although the destination accepted the alert in time, or the
 *   alert was sent again although a delivery was on record.
 *
 * @param acceptedAtMs when the destination accepted the alert earlier, in ms since the epoch, by the clock of this
 *   machine: requests arrive late by that clock, whereas the run advances the clock of the stack
 * @param wasKilled whether a worker that may have sent it was killed
 */
export const duplicateCause = (
  acceptedAtMs: number,
  attempts: readonly RecordedAttempt[],
  wasKilled: boolean,
): DuplicateCause => {
  if (attempts.filter(({ result }) => result === 'delivered').length > 1) return 'unexplained';
  const attempt = attempts.findLast(({ timestamp_ms }) => timestamp_ms <= acceptedAtMs);
  if (attempt && attempt.result !== 'delivered') {
    const endMs = attempt.timestamp_ms + attempt.duration_ms;
    const hasTimedOut = attempt.duration_ms >= SEND_TIMEOUT_MS;
    if (hasTimedOut && acceptedAtMs <= endMs + MAX_ARRIVAL_DELAY_MS) return 'timeout';
    if (acceptedAtMs <= endMs) return 'unexplained';
  }
  return wasKilled ? 'kill' : 'unexplained';
};
