import { errorTrace, logger } from '../../adapters/logger.ts';
import { type FailureReason, type MessageOutcome, stopReasons } from '../../contracts/outcomes.ts';
import type { Failure } from '../../domain/attempt-outcome.ts';
import { bodyForRound } from '../../domain/delivery-message.ts';
import { destinationField } from '../../domain/delivery-metrics.ts';
import {
  type DeliveryRecord,
  withCancellation,
  withFailure,
  withNextAttempt,
  withStatus,
} from '../../domain/delivery-record.ts';
import type { DeliveryResult } from '../../domain/delivery-result.ts';
import { isHeartbeat } from '../../domain/heartbeat.ts';
import { internalErrorDelayMs, retryDelayMs } from '../../domain/retry-schedule.ts';
import type { ClaimedDelivery } from './claimed-delivery.ts';
import { idsOf } from './delivery-job.ts';
import { persist } from './persist.ts';
import { copyForRecord } from './requeue.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** The part of a failure that goes into logs, records and dead letters. */
type LoggedFailure = Pick<Failure, 'reason' | 'cause' | 'status' | 'code'>;

/**
 * Logs a failed attempt: IDs, reason, whether the destination was called, status and error code, never the destination's response
 * (docs/decisions/monitoring.md#what-is-logged).
 */
const logFailure = ({ job, record }: ClaimedDelivery, outcome: MessageOutcome, failure: LoggedFailure): void => {
  const { reason, cause, status, code } = failure;
  const { attempt_count } = record;
  const destination = destinationField(reason);
  logger.warn('delivery failed', { outcome, ...idsOf(job), reason, cause, destination, status, code, attempt_count });
};

/** The reasons for which a notice has no recipient. It is cancelled, and its copies to others are sent. */
const noRecipientReasons: readonly FailureReason[] = ['no_contacts', 'email_off', ...stopReasons];

/** Creates what follows an attempt: it is recorded, and its failure is retried or dead-lettered. */
export const createAttemptEnd = (dependencies: SenderDependencies) => {
  const { queues, failedMessages, retryQueueUrl, deadLetterQueueUrl, retryDelayScale, clock, isTenantThrottled } =
    dependencies;

  /**
   * Releases the claim of a failed delivery whose dead letter could not be stored, until its message returns. While that
   * repeats, the record says that the alert fails, so that the event is escalated.
   */
  const releaseFailed = async (
    delivery: ClaimedDelivery,
    { last_cause, last_reason }: DeliveryRecord,
  ): Promise<void> => {
    const receiveCount = Number(delivery.job.message.attributes.ApproximateReceiveCount);
    const next_attempt_at_ms = clock() + internalErrorDelayMs(receiveCount, retryDelayScale);
    delivery.record = { ...delivery.record, last_cause, last_reason, next_attempt_at_ms };
    await delivery.release().catch(() => undefined);
  };

  /**
   * Ends a round without delivery. The order prevents loss if the worker crashes: store the message for the tenant
   * (docs/decisions/deliveries.md#failed-messages), send the dead letter, update the record,
   * acknowledge the message. The stored message and the record have the same time of failure, which marks the message as
   * current. The claim is held throughout, so that no duplicate is delivered. The dead letter and the stored message
   * contain the number of the next round, and no other message can start that round
   * (docs/decisions/deliveries.md#dead-letters).
   */
  const deadLetter = async (delivery: ClaimedDelivery, failure: LoggedFailure): Promise<DeliveryResult> => {
    const { record } = delivery;
    const { body } = delivery.job;
    // If a later step fails, the record must already include this attempt and the recipients it reached. Its message is
    // then received again, which must not count as overdue since the attempt: that would start a new round.
    // The cause is recorded with the end, or when the dead letter cannot be stored, so that the stream shows one failure.
    const { last_cause, last_reason } = delivery.claimed;
    await delivery.persist({ ...record, last_cause, last_reason, next_attempt_at_ms: clock() });
    const isNotice = body.notice !== undefined && body.notice.kind !== 'summary';
    if (isNotice && noRecipientReasons.includes(failure.reason)) {
      await delivery.write(withCancellation(record, failure.reason, clock()));
      return { kind: 'cancelled' };
    }
    const [round, failedAtMs] = [record.round + 1, clock()];
    const letter = { body: bodyForRound(body, { ...record, round }), messageGroupId: body.event.tenant_id };
    const failed = withFailure({ ...record, last_cause: failure.cause }, failure.reason, failedAtMs);
    try {
      if (!isNotice) {
        const message = { recordKey: record, failedAtMs, body: letter.body, round };
        await persist(delivery.job, () => failedMessages.put(message));
      }
      await queues.sendToDeadLetterQueue(deadLetterQueueUrl, letter, {
        ...failure,
        attemptCount: record.attempt_count,
      });
    } catch (error) {
      await releaseFailed(delivery, failed);
      throw error;
    }
    await delivery.persist(failed);
    logFailure(delivery, 'dead_lettered', failure);
    return { kind: 'dead_lettered', cause: failure.cause };
  };

  /**
   * Schedules the next attempt: updates the record, then sends a new message, before the old message is acknowledged.
   * The message is sent even if the update finds that the claim is lost (to another worker, or because the SDK repeated
   * an applied write): when the message is received, its claim determines whether an attempt is due
   * (docs/decisions/deliveries.md#retries-are-new-messages).
   */
  const scheduleRetry = async (
    delivery: ClaimedDelivery,
    failure: Failure,
    waitMs: number,
  ): Promise<DeliveryResult> => {
    const { job, record } = delivery;
    await delivery.persist(withNextAttempt(record, clock() + waitMs));
    await queues.sendDelayed(retryQueueUrl, copyForRecord(job, record), waitMs);
    logFailure(delivery, 'retried', failure);
    return { kind: 'retried' };
  };

  /** Ends the delivery of a heartbeat, because the receiver reports missing ones (docs/decisions/monitoring.md#heartbeat). */
  const endHeartbeat = async (
    delivery: ClaimedDelivery,
    { reason, status, code }: Failure,
  ): Promise<DeliveryResult> => {
    logger.error('heartbeat not delivered', { ...idsOf(delivery.job), reason, status, code });
    await delivery.write(withStatus(delivery.record, 'failed', clock()));
    return { kind: 'heartbeat' };
  };

  return {
    deadLetter,

    /**
     * Records a delivery. Acknowledges the message even if that is impossible: returning it could send the alert twice. A
     * recorded delivery is sent once, so if its bounces cannot be recorded, the message is received again.
     */
    async recordDelivered(delivery: ClaimedDelivery): Promise<DeliveryResult> {
      const { job, record } = delivery;
      try {
        await delivery.persist(withStatus(record, 'delivered', clock()));
      } catch (error) {
        logger.error('delivered but not recorded', { ...idsOf(job), ...errorTrace(error) });
        return { kind: 'unrecorded', isTenantThrottled: isTenantThrottled(error, job.body.event.tenant_id) };
      }
      await delivery.markBounced();
      return { kind: 'delivered' };
    },

    /** Records a failed attempt, and schedules the next one or dead-letters the delivery. */
    recordFailed(delivery: ClaimedDelivery, failure: Failure): Promise<DeliveryResult> {
      if (isHeartbeat(delivery.job.body.event)) return endHeartbeat(delivery, failure);
      const waitMs = retryDelayMs(delivery.record.attempt_count, failure, retryDelayScale);
      return waitMs === undefined ? deadLetter(delivery, failure) : scheduleRetry(delivery, failure, waitMs);
    },
  };
};
