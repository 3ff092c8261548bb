import { errorTrace, logger } from '../../adapters/logger.ts';
import { roundOf } from '../../contracts/messages.ts';
import type { Failure } from '../../domain/attempt-outcome.ts';
import { bodyForRound } from '../../domain/delivery-message.ts';
import { type DeliveryRecord, withNextAttempt, withStatus } from '../../domain/delivery-record.ts';
import { retryDelayMs } from '../../domain/retry-schedule.ts';
import { createDeadLetter } from './dead-letter.ts';
import type { UnsettledAttempt } from './delivery-attempt.ts';
import { type DeliveryJob, idsOf, type SettledMessage } from './delivery-job.ts';
import { logFailure } from './failure-log.ts';
import { persist } from './persist.ts';
import { copyOfMessage } from './requeue.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** Creates what follows an attempt: it is recorded, and its failure is retried or dead-lettered. */
export const createSettlement = (dependencies: SenderDependencies) => {
  const { queues, retryQueueUrl, retryDelayScale, clock, isTenantThrottled } = dependencies;
  const deadLetter = createDeadLetter(dependencies);

  /**
   * Schedules the next attempt: updates the record, then sends a new message, before the old message is acknowledged.
   * The message is sent even if the update finds that the claim is lost (to another worker, or because the SDK repeated
   * an applied write): when the message is received, its claim determines whether an attempt is due
   * (docs/decisions/deliveries.md#retries-are-new-messages).
   */
  const scheduleRetry = async (
    job: DeliveryJob,
    record: DeliveryRecord,
    failure: Failure,
    waitMs: number,
  ): Promise<SettledMessage> => {
    const next = withNextAttempt(record, clock() + waitMs);
    await persist(job, () => job.writes.update(record, next));
    const copy = copyOfMessage(job);
    const isSameRound = roundOf(job.body) === record.round;
    await queues.sendDelayed(
      retryQueueUrl,
      isSameRound ? copy : { ...copy, body: bodyForRound(job.body, record.round) },
      waitMs,
    );
    logFailure(job, 'retried', failure, record.attempt_count);
    return { outcome: 'retried' };
  };

  /**
   * Acknowledges the message even if the delivery cannot be recorded: returning it could send the alert twice. A recorded
   * delivery is sent once, so if its bounces cannot be settled, the message is received again.
   */
  const settleDelivered = async (job: DeliveryJob, record: DeliveryRecord): Promise<SettledMessage> => {
    const delivered = withStatus(record, 'delivered', clock());
    let stored: DeliveryRecord;
    try {
      stored = await persist(job, () => job.writes.update(record, delivered));
    } catch (error) {
      logger.error('delivered but not recorded', { ...idsOf(job), ...errorTrace(error) });
      return { outcome: 'unrecorded', isTenantThrottled: isTenantThrottled(error, job.body.event.tenant_id) };
    }
    await job.writes.settleBounce(stored);
    return { outcome: 'delivered' };
  };

  const settleFailed = (job: DeliveryJob, record: DeliveryRecord, failure: Failure): Promise<SettledMessage> => {
    const waitMs = retryDelayMs(record.attempt_count, failure, retryDelayScale);
    return waitMs === undefined ? deadLetter(job, record, failure) : scheduleRetry(job, record, failure, waitMs);
  };

  /** Records an attempt and schedules a retry or dead-letters the delivery if the attempt failed. */
  return async (job: DeliveryJob, { record, attemptOutcome }: UnsettledAttempt): Promise<SettledMessage> => {
    const settled =
      attemptOutcome.result === 'delivered'
        ? await settleDelivered(job, record)
        : await settleFailed(job, record, attemptOutcome);
    return { ...settled, attemptOutcome };
  };
};

/** Settles an attempt. */
export type SettleAttempt = ReturnType<typeof createSettlement>;
