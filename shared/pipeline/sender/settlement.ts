import { errorTrace, logger } from '../../adapters/logger.ts';
import type { Failure } from '../../domain/attempt-outcome.ts';
import { bodyForRound, roundOf } from '../../domain/delivery-message.ts';
import { deliveryLatency } from '../../domain/delivery-metrics.ts';
import { type DeliveryRecord, withNextAttempt, withStatus } from '../../domain/delivery-record.ts';
import { retryDelayMs } from '../../domain/retry-schedule.ts';
import { deadLetter } from './dead-letter.ts';
import type { UnsettledAttempt } from './delivery-attempt.ts';
import { type DeliveryJob, idsOf, type SettledMessage } from './delivery-job.ts';
import { logFailure } from './failure-log.ts';
import { newlyFailing } from './failure-report.ts';
import { recordFinalStatus } from './final-status.ts';
import { persist } from './persist.ts';
import { sentAtMs } from './read-message.ts';
import { copyOfMessage } from './requeue.ts';

/**
 * Returns the URL of the queue on which a delivery waits for its next attempt. It is the retry queue, unless only other
 * tenants prevented the first attempt: then it is the queue of the type, so that the delivery does not wait behind their
 * retries (docs/decisions/deliveries.md#circuit-breaker).
 */
const waitingQueueUrl = (
  { dependencies: { type, queueUrls, retryQueueUrl } }: DeliveryJob,
  { attempt_count }: DeliveryRecord,
  { causedByOtherTenants = false }: Failure,
): string => (causedByOtherTenants && attempt_count === 0 ? queueUrls[type] : retryQueueUrl);

/**
 * Schedules the next attempt: updates the record, then sends a new message, before the old message is acknowledged. The
 * message is sent even if the update finds that the claim is lost (to another worker, or because the SDK repeated an
 * applied write): when the message is received, its claim determines whether an attempt is due
 * (docs/decisions/deliveries.md#retries-are-new-messages).
 */
const scheduleRetry = async (
  job: DeliveryJob,
  { claimed, record }: UnsettledAttempt,
  failure: Failure,
  waitMs: number,
): Promise<SettledMessage> => {
  const { deliveries, queues, clock } = job.dependencies;
  const next = withNextAttempt(record, clock() + waitMs);
  const stored = await persist(job, () => deliveries.update(record, next));
  const copy = copyOfMessage(job);
  const isSameRound = roundOf(job.body) === record.round;
  await queues.sendDelayed(
    waitingQueueUrl(job, record, failure),
    isSameRound ? copy : { ...copy, body: bodyForRound(job.body, record.round) },
    waitMs,
  );
  logFailure(job, 'retried', failure, record.attempt_count);
  return { outcome: 'retried', failing: newlyFailing(job, claimed, stored ?? next) };
};

/**
 * Acknowledges the message even if the delivery cannot be recorded: returning it could send the alert twice. A recorded
 * delivery is sent once, so if its bounces cannot be settled, the message is received again.
 */
const settleDelivered = async (job: DeliveryJob, record: DeliveryRecord): Promise<SettledMessage> => {
  const { dependencies, body } = job;
  const delivered = withStatus(record, 'delivered', dependencies.clock());
  const latencyMs = deliveryLatency(record.round_started_at_ms, sentAtMs(job.message), dependencies.clock());
  let stored: DeliveryRecord;
  try {
    stored = await persist(job, () => recordFinalStatus(job, record, delivered));
  } catch (error) {
    logger.error('delivered but not recorded', { ...idsOf(job), ...errorTrace(error) });
    const isTenantThrottled = dependencies.isTenantThrottled(error, body.event.tenant_id);
    return { outcome: 'unrecorded', isTenantThrottled };
  }
  const settled = await dependencies.deliveries.settleBounce(stored, dependencies.clock());
  return { outcome: 'delivered', latencyMs, failing: settled.status === 'bounced' ? settled : undefined };
};

const settleFailed = (job: DeliveryJob, attempt: UnsettledAttempt, failure: Failure): Promise<SettledMessage> => {
  const { record } = attempt;
  const waitMs = retryDelayMs(record.attempt_count, failure, job.dependencies.retryDelayScale);
  return waitMs === undefined ? deadLetter(job, record, failure) : scheduleRetry(job, attempt, failure, waitMs);
};

/** Records an attempt and schedules a retry or dead-letters the delivery if the attempt failed. */
export const settleAttempt = async (job: DeliveryJob, attempt: UnsettledAttempt): Promise<SettledMessage> => {
  const { record, attemptOutcome } = attempt;
  const settled =
    attemptOutcome.result === 'delivered'
      ? await settleDelivered(job, record)
      : await settleFailed(job, attempt, attemptOutcome);
  return { ...settled, attemptOutcome };
};
