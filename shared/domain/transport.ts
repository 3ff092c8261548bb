import type { EventHeader } from '../contracts/event-header.ts';
import type { NoticeContent } from '../contracts/notice.ts';
import type { StringMap } from '../contracts/text.ts';
import type { Trace } from '../contracts/trace.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';
import type { DeliveryTarget } from './notification.ts';
import type { Summary } from './summary.ts';

/** An alert to deliver. */
export type Alert = {
  event: EventHeader;
  /** The JSON that webhooks get (`webhookPayload`), as a producer's numbers are written. */
  payload: string;
  /** When the alarm's state changed, ms since the epoch. */
  eventTimeMs: number;
  /** When SQS accepted the event, ms since the epoch. Absent in a test. */
  acceptedAtMs?: number;
  /** Unique per delivery, the same in all attempts. */
  deliveryId: string;
  /** Present if the alert is a notice of the service. */
  notice?: NoticeContent | undefined;
  /** Present in a summary: what it lists. `notice` has its period. */
  summary?: Summary | undefined;
  trace?: Trace | undefined;
  /** Absent in a test, which has no record. */
  notificationId?: string;
  /** Hashes of the recipients that earlier attempts reached (`AttemptOutcome.reachedRecipientHashes`). */
  reachedRecipientHashes: readonly string[];
  /** True if an earlier attempt may have arrived (`mayHaveArrived`). False by default, as in a test. */
  mayHaveArrived?: boolean;
  /** Returns the milliseconds until the function times out. */
  timeLeft: () => number;
};

/**
 * Attempts once to deliver an alert, within `sendTimeoutMs`. Returns a failure of the destination as an outcome. Throws
 * if nothing was sent because a dependency such as DynamoDB failed or was slow, which does not count as an attempt.
 *
 * @param details valid fields of the type
 * @param options only of type `webhook`: the serialized `webhook_request`, and the signing secrets of its own
 */
export type Transport = (
  alert: Alert,
  details: StringMap,
  options?: Pick<DeliveryTarget, 'webhookRequest' | 'signingSecrets'>,
) => Promise<AttemptOutcome>;

/** Timeout of a send, including DNS, connect, TLS, headers and body (docs/decisions/deliveries.md#timeouts). */
export const SEND_TIMEOUT_MS = 15_000;

/** Reserved for writing the record after a send. */
const TIME_TO_RECORD_MS = 2_000;

/** Less is too short for most destinations. The AWS SDK takes 0 as no timeout. */
const MIN_SEND_TIMEOUT_MS = 1_000;

/** Earlier calls left too little time for the send. This is an internal error. */
export class NoTimeLeftError extends Error {
  override readonly name = 'NoTimeLeftError';
}

/**
 * Returns the timeout for a send that starts now, in ms: SEND_TIMEOUT_MS, or less if the function times out earlier.
 *
 * @throws NoTimeLeftError
 */
export const sendTimeoutMs = (timeLeft: () => number): number => {
  const remainingMs = timeLeft() - TIME_TO_RECORD_MS;
  if (remainingMs < MIN_SEND_TIMEOUT_MS) throw new NoTimeLeftError();
  return Math.min(SEND_TIMEOUT_MS, remainingMs);
};

/** Minimum time before the function times out to start a send. */
export const MIN_TIME_TO_SEND_MS = SEND_TIMEOUT_MS + TIME_TO_RECORD_MS;
