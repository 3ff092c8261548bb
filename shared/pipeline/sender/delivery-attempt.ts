import { randomUUID } from 'node:crypto';
import { logger } from '../../adapters/logger.ts';
import type { AttemptOutcome } from '../../domain/attempt-outcome.ts';
import {
  causeOfExpiry,
  claimedRecord,
  type DeliveryRecord,
  isExpired,
  withAttempt,
  withNextAttempt,
  withStatus,
} from '../../domain/delivery-record.ts';
import type { DeliveryTarget } from '../../domain/notification.ts';
import { MAX_ATTEMPTS } from '../../domain/retry-schedule.ts';
import { MIN_TIME_TO_SEND_MS } from '../../domain/transport.ts';
import { deadLetter } from './dead-letter.ts';
import {
  type DeliveryJob,
  reschedule,
  returnToQueue,
  type SettledMessage,
  sameMessage,
  sentAt,
} from './delivery-job.ts';

/** An attempt that was made: the record counts it already, and the claim still holds. */
export type Attempted = { record: DeliveryRecord; attemptOutcome: AttemptOutcome };

/** The calls before the send took so long that it could not be finished: a failure of ours, which must be seen. */
class NoTimeLeftError extends Error {
  override readonly name = 'NoTimeLeftError';
}

const send = async (job: DeliveryJob, record: DeliveryRecord, { details }: DeliveryTarget): Promise<AttemptOutcome> => {
  const { dependencies, body, deliveryId, timeLeft } = job;
  try {
    const { event, notification_id: notificationId, event_time_ms: eventTimeMs } = body;
    const alert = {
      event,
      eventTimeMs,
      notificationId,
      deliveryId,
      reachedRecipientHashes: record.reached_recipient_hashes,
      timeLeft,
    };
    return await dependencies.transport(alert, details);
  } catch (error) {
    // A failure of ours kept it from being tried. Where even this write fails, the lease ends by itself.
    await dependencies.deliveries
      .update(record, withNextAttempt(record, record.next_attempt_at_ms))
      .catch(() => undefined);
    throw error;
  }
};

const attemptClaimed = async (
  job: DeliveryJob,
  record: DeliveryRecord,
  target: DeliveryTarget | undefined,
  isSuperseded: boolean,
): Promise<SettledMessage | Attempted> => {
  const { deliveries, clock } = job.dependencies;
  if (!target || isSuperseded) {
    const outcome = target ? 'superseded' : 'cancelled';
    await deliveries.complete(withStatus(record, outcome));
    return { outcome };
  }
  if (isExpired(record, clock())) return deadLetter(job, record, { reason: 'expired', cause: causeOfExpiry(record) });
  // A worker crashed after the last attempt was counted and before it was dead-lettered.
  if (record.attempt_count >= MAX_ATTEMPTS)
    return deadLetter(job, record, { reason: 'attempts_exhausted', cause: causeOfExpiry(record) });
  if (job.timeLeft() < MIN_TIME_TO_SEND_MS) {
    await deliveries.update(record, withNextAttempt(record, record.next_attempt_at_ms));
    throw new NoTimeLeftError();
  }
  const at = clock();
  const attemptOutcome = await send(job, record, target);
  return { record: withAttempt(record, attemptOutcome, at, clock() - at), attemptOutcome };
};

const reportConflict = async (
  { dependencies, body, deliveryId }: DeliveryJob,
  record: DeliveryRecord,
): Promise<SettledMessage> => {
  const { type, deliveries, clock } = dependencies;
  logger.error('event conflict', { type, delivery_id: deliveryId, tenant_id: body.event.tenant_id });
  await deliveries.recordConflict(record, clock());
  return { outcome: 'conflict' };
};

/**
 * Makes one attempt for a message: sends it on if the notification has another type now, claims the delivery, and delivers. A
 * failure of our own dependencies is thrown: it uses no attempt.
 *
 * @param isSuperseded true where a newer event of the incident was delivered
 * @returns what became of the message, or the attempt, which is still to be settled
 */
export const attemptDelivery = async (
  job: DeliveryJob,
  target: DeliveryTarget | undefined,
  isSuperseded = false,
): Promise<SettledMessage | Attempted> => {
  const { dependencies, message, body } = job;
  const { deliveries, queues, queueUrls, type, clock } = dependencies;
  if (target && target.type !== type) {
    await queues.sendDelayed(queueUrls[target.type], sameMessage(job), 0);
    return { outcome: 'forwarded' };
  }
  if (job.timeLeft() < MIN_TIME_TO_SEND_MS) throw new NoTimeLeftError();

  const first = claimedRecord(body, randomUUID(), clock());
  const claim = await deliveries.claim(first, clock(), sentAt(message));
  switch (claim.kind) {
    case 'ended':
      return { outcome: 'duplicate', wasDelivered: claim.isDelivered };
    case 'conflict':
      return reportConflict(job, first);
    case 'busy':
      return returnToQueue(job, 'busy', (claim.leaseUntilMs - clock()) / 1000 + 1);
    case 'not_due':
      return reschedule(job, claim.nextAttemptAtMs - clock());
    case 'claimed':
      return attemptClaimed(job, claim.record, target, isSuperseded);
  }
};
