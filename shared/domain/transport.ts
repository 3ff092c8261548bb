import type { AlarmEvent } from '../contracts/alarm-event.ts';
import type { StringMap } from '../contracts/notification.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';

/** What a sender is given to deliver. */
export type Alert = {
  event: AlarmEvent;
  /** When the alarm's state changed, ms since the epoch. */
  eventTimeMs: number;
  /** The same over all attempts; never the same for two deliveries. */
  deliveryId: string;
  /** Whom it is for; absent in a test, which has no record. */
  notificationId?: string;
  /** Parts that have arrived in earlier attempts (`AttemptOutcome.partsDone`). */
  reachedRecipientHashes: readonly string[];
  /** Milliseconds until the function is killed. */
  timeLeft: () => number;
};

/**
 * The port of a notification type: delivers an alert to one destination, once, within the deadline of a send. A failure of
 * the destination is an outcome; a failure of our own dependencies is thrown, and uses no attempt.
 *
 * @param details the fields of the type, valid
 */
export type Transport = (alert: Alert, details: StringMap) => Promise<AttemptOutcome>;

/** The most that one send may take, in ms: DNS, connect, TLS, headers and body together (design 3, Claim). */
export const SEND_TIMEOUT_MS = 15_000;

/** What the record needs after a send, in ms. */
const TIME_TO_RECORD = 2_000;

/** How long a send may take now: the whole deadline, or what is left for it. */
export const sendTimeoutMs = (timeLeft: () => number): number =>
  Math.max(0, Math.min(SEND_TIMEOUT_MS, timeLeft() - TIME_TO_RECORD));

/** No send starts with less than this left of the function's time, in ms: the deadline, and what the record needs after it. */
export const MIN_TIME_TO_SEND_MS = SEND_TIMEOUT_MS + TIME_TO_RECORD;
