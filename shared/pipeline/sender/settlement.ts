import { errorTrace, logger } from '../../adapters/logger.ts';
import { notificationTypes } from '../../contracts/notification-types.ts';
import type { Failure } from '../../domain/attempt-outcome.ts';
import { bodyForRound, roundOf } from '../../domain/delivery-message.ts';
import { deliveryLatency } from '../../domain/delivery-metrics.ts';
import { type DeliveryRecord, withNextAttempt, withStatus } from '../../domain/delivery-record.ts';
import { retryDelayMs } from '../../domain/retry-schedule.ts';
import { deadLetter } from './dead-letter.ts';
import type { Attempted } from './delivery-attempt.ts';
import { type DeliveryJob, type SettledMessage, sameMessage, sentAt } from './delivery-job.ts';
import { logFailure } from './failure-log.ts';
import { persist } from './persist.ts';

/**
 * Schedules the next attempt as a new message on the queue of retries, sent before the old one is acknowledged. The record,
 * written first, says when the attempt is due. If another worker holds the record by now, or the SDK has applied this write
 * before, the message is sent all the same: it finds out by itself.
 */
const scheduleRetry = async (
  job: DeliveryJob,
  record: DeliveryRecord,
  failure: Failure,
  waitMs: number,
): Promise<SettledMessage> => {
  const { deliveries, queues, retryQueueUrl, clock } = job.dependencies;
  await persist(job, () => deliveries.update(record, withNextAttempt(record, clock() + waitMs)));
  const message = sameMessage(job);
  const isOfRound = roundOf(job.body) === record.round;
  await queues.sendDelayed(
    retryQueueUrl,
    isOfRound ? message : { ...message, body: bodyForRound(job.body, record.round) },
    waitMs,
  );
  logFailure(job, 'retried', failure, record.attempt_count);
  return { outcome: 'retried' };
};

/** `bounced` may follow on `delivered`, so a second, late copy of that write must not undo it. */
const recordDelivered = async ({ dependencies }: DeliveryJob, record: DeliveryRecord): Promise<void> => {
  const delivered = withStatus(record, 'delivered');
  if (notificationTypes[dependencies.type].canBounce) await dependencies.deliveries.update(record, delivered);
  else await dependencies.deliveries.complete(delivered);
};

/** A delivery that cannot be recorded must not be repeated: it is written again while time lasts, then acknowledged. */
const settleDelivered = async (job: DeliveryJob, record: DeliveryRecord): Promise<SettledMessage> => {
  const { dependencies, deliveryId, body } = job;
  const latencyMs = deliveryLatency(record.round_started_at_ms, sentAt(job.message), dependencies.clock());
  try {
    await persist(job, () => recordDelivered(job, record));
    return { outcome: 'delivered', latencyMs };
  } catch (error) {
    const ids = { type: dependencies.type, delivery_id: deliveryId, tenant_id: body.event.tenant_id };
    logger.error('delivered but not recorded', { ...ids, ...errorTrace(error) });
    const isTenantThrottled = dependencies.isTenantThrottled(error, body.event.tenant_id);
    return { outcome: 'unrecorded', latencyMs, isTenantThrottled };
  }
};

const settleOutcome: typeof settle = async (job, { record, attemptOutcome }) => {
  if (attemptOutcome.result === 'delivered') return settleDelivered(job, record);
  const waitMs = retryDelayMs(record.attempt_count, attemptOutcome, job.dependencies.retryDelayScale);
  return waitMs === undefined
    ? deadLetter(job, record, attemptOutcome)
    : scheduleRetry(job, record, attemptOutcome, waitMs);
};

/** Settles what came of an attempt, which its record counts already: it is recorded, tried again later, or dead-lettered. */
export const settle = async (job: DeliveryJob, attempt: Attempted): Promise<SettledMessage> => ({
  ...(await settleOutcome(job, attempt)),
  attemptOutcome: attempt.attemptOutcome,
});
