import { randomUUID } from 'node:crypto';
import { logger } from '../../adapters/logger.ts';
import type { Outcome } from '../../domain/attempt-outcome.ts';
import {
  attempted,
  causeOfExpiry,
  claimedRecord,
  type DeliveryRecord,
  ended,
  isExpired,
  released,
} from '../../domain/delivery-record.ts';
import type { DeliveryTarget } from '../../domain/notification.ts';
import { MAX_ATTEMPTS } from '../../domain/retry-schedule.ts';
import { MIN_TIME_TO_SEND } from '../../domain/transport.ts';
import { deadLetter } from './dead-letter.ts';
import { reschedule, returnToQueue, type Settled, sameMessage, sentAt, type Work } from './delivery-job.ts';

/** An attempt that was made: the record counts it already, and the claim still holds. */
export type Attempted = { record: DeliveryRecord; outcome: Outcome };

/** The calls before the send took so long that it could not be finished: a failure of ours, which must be seen. */
class NoTimeLeftError extends Error {
  override readonly name = 'NoTimeLeftError';
}

const deliver = async (work: Work, record: DeliveryRecord, { details }: DeliveryTarget): Promise<Outcome> => {
  const { tools, body, id, timeLeft } = work;
  try {
    const { event, notification_id: notificationId, event_time_ms: eventTimeMs } = body;
    const alert = { event, eventTimeMs, notificationId, deliveryId: id, partsDone: record.parts, timeLeft };
    return await tools.deliver(alert, details);
  } catch (error) {
    // A failure of ours kept it from being tried. Where even this write fails, the lease ends by itself.
    await tools.deliveries.update(record, released(record, record.due)).catch(() => undefined);
    throw error;
  }
};

const attemptClaimed = async (
  work: Work,
  record: DeliveryRecord,
  target: DeliveryTarget | undefined,
  isSuperseded: boolean,
): Promise<Settled | Attempted> => {
  const { deliveries, clock } = work.tools;
  if (!target || isSuperseded) {
    const verdict = target ? 'superseded' : 'cancelled';
    await deliveries.complete(ended(record, verdict));
    return { verdict };
  }
  if (isExpired(record, clock())) return deadLetter(work, record, { reason: 'expired', cause: causeOfExpiry(record) });
  // A worker crashed after the last attempt was counted and before it was dead-lettered.
  if (record.attempts >= MAX_ATTEMPTS)
    return deadLetter(work, record, { reason: 'attempts exhausted', cause: causeOfExpiry(record) });
  if (work.timeLeft() < MIN_TIME_TO_SEND) {
    await deliveries.update(record, released(record, record.due));
    throw new NoTimeLeftError();
  }
  const at = clock();
  const outcome = await deliver(work, record, target);
  return { record: attempted(record, outcome, at, clock() - at), outcome };
};

const reportConflict = async ({ tools, body, id }: Work, record: DeliveryRecord): Promise<Settled> => {
  const { type, deliveries, clock } = tools;
  logger.error('event conflict', { type, delivery_id: id, tenant_id: body.event.tenant_id });
  await deliveries.noteConflict(record, clock());
  return { verdict: 'conflict' };
};

/**
 * Makes one attempt for a message: sends it on if the notification has another type now, claims the delivery, and delivers. A
 * failure of our own dependencies is thrown: it uses no attempt.
 *
 * @param isSuperseded true where a newer event of the incident was delivered
 * @returns what became of the message, or the attempt, which is still to be settled
 */
export const attemptDelivery = async (
  work: Work,
  target: DeliveryTarget | undefined,
  isSuperseded = false,
): Promise<Settled | Attempted> => {
  const { tools, record: message, body } = work;
  const { deliveries, queues, queueUrls, type, clock } = tools;
  if (target && target.type !== type) {
    await queues.sendDelayed(queueUrls[target.type], sameMessage(work), 0);
    return { verdict: 'forwarded' };
  }
  if (work.timeLeft() < MIN_TIME_TO_SEND) throw new NoTimeLeftError();

  const first = claimedRecord(body, randomUUID(), clock());
  const claim = await deliveries.claim(first, clock(), sentAt(message));
  switch (claim.kind) {
    case 'ended':
      return { verdict: 'duplicate', wasDelivered: claim.isDelivered };
    case 'conflict':
      return reportConflict(work, first);
    case 'busy':
      return returnToQueue(work, 'busy', (claim.until - clock()) / 1000 + 1);
    case 'early':
      return reschedule(work, claim.due - clock());
    case 'claimed':
      return attemptClaimed(work, claim.record, target, isSuperseded);
  }
};
