import { randomUUID } from 'node:crypto';
import { logger } from '../../adapters/logger.ts';
import { notificationTypes } from '../../contracts/notification-types.ts';
import type { AttemptOutcome } from '../../domain/attempt-outcome.ts';
import {
  claimedRecord,
  type DeliveryRecord,
  isFailing,
  isRoundExpired,
  mayHaveArrived,
  roundExpiryCause,
  withAttempt,
  withNextAttempt,
  withStatus,
  withSuperseded,
} from '../../domain/delivery-record.ts';
import { changedAtMs, type EventTime } from '../../domain/event-time.ts';
import type { DeliveryTarget } from '../../domain/notification.ts';
import { MAX_ATTEMPTS } from '../../domain/retry-schedule.ts';
import { MIN_TIME_TO_SEND_MS } from '../../domain/transport.ts';
import { deadLetter } from './dead-letter.ts';
import { type DeliveryJob, idsOf, type SettledMessage } from './delivery-job.ts';
import { logOlderTimestamp } from './failure-log.ts';
import { unreportedFailure } from './failure-report.ts';
import { recordFinalStatus } from './final-status.ts';
import { copyOfMessage, reschedule, returnBusyMessage } from './requeue.ts';

/**
 * An attempt that is not yet settled. `claimed` is the record before the attempt, whose claim is still held. `record`
 * includes the attempt but is not yet written.
 */
export type UnsettledAttempt = { claimed: DeliveryRecord; record: DeliveryRecord; attemptOutcome: AttemptOutcome };

/** Earlier calls left too little time for the send. This is an internal error. */
class NoTimeLeftError extends Error {
  override readonly name = 'NoTimeLeftError';
}

const callTransport = async (
  job: DeliveryJob,
  record: DeliveryRecord,
  { details }: DeliveryTarget,
): Promise<AttemptOutcome> => {
  const { dependencies, body, deliveryId, time, timeLeft } = job;
  try {
    const { event, notice, notification_id: notificationId } = body;
    const alert = {
      event,
      notice,
      eventTimeMs: changedAtMs(time),
      notificationId,
      deliveryId,
      reachedRecipientHashes: record.reached_recipient_hashes,
      mayHaveArrived: mayHaveArrived(record),
      timeLeft,
    };
    return await dependencies.transport(alert, details);
  } catch (error) {
    // An internal error: nothing was sent. If this write fails too, the lease expires.
    await dependencies.deliveries
      .update(record, withNextAttempt(record, record.next_attempt_at_ms))
      .catch(() => undefined);
    throw error;
  }
};

/** Ends the delivery of a deleted notification. */
const cancel = async (job: DeliveryJob, record: DeliveryRecord): Promise<SettledMessage> => {
  const { deliveries, clock, retryDelayScale } = job.dependencies;
  const stored = await recordFinalStatus(job, record, withStatus(record, 'cancelled', clock()));
  const ended = await deliveries.settleBounce(stored, clock());
  // A failing delivery has already been reported, unless it had reached a recipient whose email has bounced since.
  const isReported = ended.status !== 'bounced' && isFailing(record, retryDelayScale);
  return { outcome: 'cancelled', failing: isReported ? undefined : ended };
};

/** Ends the delivery of an event after a newer one was delivered. */
const supersede = async (job: DeliveryJob, record: DeliveryRecord, newer: EventTime): Promise<SettledMessage> => {
  const { clock } = job.dependencies;
  const superseded = withSuperseded(record, job.time, newer, clock());
  await recordFinalStatus(job, record, superseded);
  const hasOlderTimestamp = superseded.newer_event_at_ms !== undefined;
  if (hasOlderTimestamp) logOlderTimestamp(job);
  return { outcome: 'superseded', hasOlderTimestamp };
};

const attemptClaimedDelivery = async (
  job: DeliveryJob,
  record: DeliveryRecord,
  target: DeliveryTarget | undefined,
  newer: EventTime | undefined,
): Promise<SettledMessage | UnsettledAttempt> => {
  const { deliveries, clock } = job.dependencies;
  if (!target) return cancel(job, record);
  if (newer) return supersede(job, record, newer);
  if (isRoundExpired(record, clock()))
    return deadLetter(job, record, { reason: 'expired', cause: roundExpiryCause(record) });
  // A worker crashed after it recorded the last attempt and before it dead-lettered the delivery.
  if (record.attempt_count >= MAX_ATTEMPTS)
    return deadLetter(job, record, { reason: 'attempts_exhausted', cause: roundExpiryCause(record) });
  if (job.timeLeft() < MIN_TIME_TO_SEND_MS) {
    await deliveries.update(record, withNextAttempt(record, record.next_attempt_at_ms));
    throw new NoTimeLeftError();
  }
  const startedAtMs = clock();
  const attemptOutcome = await callTransport(job, record, target);
  const attempted = withAttempt(record, attemptOutcome, startedAtMs, clock() - startedAtMs);
  return { claimed: record, record: attempted, attemptOutcome };
};

const reportConflict = async (job: DeliveryJob, record: DeliveryRecord): Promise<SettledMessage> => {
  const { deliveries, clock } = job.dependencies;
  logger.error('event conflict', idsOf(job));
  await deliveries.recordConflict(record, clock());
  return { outcome: 'conflict' };
};

/**
 * Claims the delivery of a message and makes one attempt. If the notification's type has changed, forwards the message
 * to the queue of the new type instead.
 *
 * @param target the notification's target, or undefined if the notification was deleted
 * @param newer the times of the newest delivered event of the incident, if it is newer than this one
 * @returns the attempt, which the caller must settle, or the result of the message if there was no attempt to settle
 * @throws the error of a dependency, which does not count as an attempt
 */
export const attemptDelivery = async (
  job: DeliveryJob,
  target: DeliveryTarget | undefined,
  newer?: EventTime,
): Promise<SettledMessage | UnsettledAttempt> => {
  const { dependencies, body } = job;
  const { deliveries, queues, queueUrls, type, clock } = dependencies;
  if (target && target.type !== type) {
    await queues.sendDelayed(queueUrls[target.type], copyOfMessage(job), 0);
    return { outcome: 'forwarded' };
  }
  if (job.timeLeft() < MIN_TIME_TO_SEND_MS) throw new NoTimeLeftError();

  const first = claimedRecord(body, randomUUID(), clock(), notificationTypes[type].canBounce);
  const claim = await deliveries.claim(first, clock());
  switch (claim.kind) {
    case 'ended':
      return {
        outcome: 'duplicate',
        wasDelivered: claim.record.status === 'delivered',
        // A worker that crashed may have recorded the end and not that all recipients have bounced.
        failing: unreportedFailure(job, await deliveries.settleBounce(claim.record, clock())),
      };
    case 'conflict':
      return reportConflict(job, first);
    case 'busy':
      return returnBusyMessage(job, claim.leaseUntilMs - clock() + 1_000);
    case 'not_due':
      return {
        ...(await reschedule(job, claim.record.next_attempt_at_ms - clock())),
        failing: unreportedFailure(job, claim.record),
      };
    case 'claimed':
      return attemptClaimedDelivery(job, claim.record, target, newer);
  }
};
