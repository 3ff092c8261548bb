import type { SQSRecord } from 'aws-lambda';
import { errorTrace, logger } from '../../adapters/logger.ts';
import { lockWaitCount, type Message } from '../../adapters/queues.ts';
import { roundOf } from '../../contracts/messages.ts';
import { messageBody } from '../../contracts/text.ts';
import { bodyForRound } from '../../domain/delivery-message.ts';
import type { DeliveryRecord } from '../../domain/delivery-record.ts';
import type { DeliveryResult } from '../../domain/delivery-result.ts';
import { lockRetryDelayMs } from '../../domain/incident.ts';
import { returnWithBackoff } from '../return-with-backoff.ts';
import { type DeliveryJob, idsOf } from './delivery-job.ts';
import { queueUrlOf } from './received-message.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** Returns a new message with the body, message group and lock waits of the job's message. */
export const copyOfMessage = ({ message, body }: DeliveryJob): Message => ({
  body: messageBody(message.body),
  messageGroupId: body.event.tenant_id,
  lockWaitCount: lockWaitCount(message),
});

/** Returns the same with the round of the record and the recipients that were reached. */
export const copyForRecord = (job: DeliveryJob, record: DeliveryRecord): Message => {
  const copy = copyOfMessage(job);
  const isUnchanged = roundOf(job.body) === record.round && !record.reached_recipient_hashes?.length;
  return isUnchanged ? copy : { ...copy, body: bodyForRound(job.body, record) };
};

/** Creates what a sender does with messages that it does not process now. None of it counts an attempt. */
export const createRequeue = (dependencies: SenderDependencies) => {
  const { type, queues, retryQueueUrl, retryDelayScale, isTenantThrottled } = dependencies;

  /** Logs an internal error. @returns the outcome of the message */
  const logError = (message: SQSRecord, ids: Readonly<Record<string, string>>, error: unknown) => {
    const receives = Number(message.attributes.ApproximateReceiveCount);
    const { MessageGroupId: tenant_id } = message.attributes;
    const outcome = isTenantThrottled(error, tenant_id ?? '') ? 'throttled_keys' : 'internal_error';
    const fields = { type, outcome, message_id: message.messageId, tenant_id, ...ids, receives, ...errorTrace(error) };
    if (outcome === 'internal_error') logger.error('internal error', fields);
    else logger.warn('partition key throttled', fields);
    return outcome;
  };

  /** Logs an internal error and returns the message to its queue. Never rejects. @param ids identify the delivery */
  const returnAfterError = async (
    message: SQSRecord,
    ids: Readonly<Record<string, string>>,
    error: unknown,
  ): Promise<DeliveryResult> => {
    const kind = logError(message, ids, error);
    await returnWithBackoff(queues, queueUrlOf(message, dependencies), message, retryDelayScale, { type });
    return { kind, isReturned: true };
  };

  return {
    returnAfterError,

    /**
     * Logs an internal error after an attempt that reached recipients who could not be recorded. Sends a copy of the
     * message that lists them, visible after `waitMs`, so that they get no second email. Never rejects.
     */
    async replaceAfterError(
      job: DeliveryJob,
      record: DeliveryRecord,
      waitMs: number,
      error: unknown,
    ): Promise<DeliveryResult> {
      try {
        await queues.sendDelayed(retryQueueUrl, copyForRecord(job, record), waitMs);
      } catch {
        return returnAfterError(job.message, idsOf(job), error);
      }
      return { kind: logError(job.message, idsOf(job), error) };
    },

    /** Sends a copy of the message to the retry queue, visible after `waitMs`. */
    async reschedule(job: DeliveryJob, waitMs: number): Promise<DeliveryResult> {
      await queues.sendDelayed(retryQueueUrl, copyOfMessage(job), waitMs);
      return { kind: 'not_due' };
    },

    /** Returns the message to its queue for `timeoutMs`, until the claim of another worker ends. */
    async returnBusyMessage({ message }: DeliveryJob, timeoutMs: number): Promise<DeliveryResult> {
      await queues.changeVisibility(queueUrlOf(message, dependencies), message, timeoutMs);
      return { kind: 'busy', isReturned: true };
    },

    /**
     * Sends a copy of a message that waits for its incident lock: returning the message to its queue would exhaust
     * maxReceiveCount. The copy goes to the queue of its original, because the retry queue has a longer batching window.
     */
    async waitForLock(job: DeliveryJob): Promise<DeliveryResult> {
      const waits = lockWaitCount(job.message);
      const copy = { ...copyOfMessage(job), lockWaitCount: waits + 1 };
      await queues.sendDelayed(queueUrlOf(job.message, dependencies), copy, lockRetryDelayMs(waits));
      return { kind: 'busy' };
    },
  };
};
