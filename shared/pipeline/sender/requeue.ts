import type { SQSRecord } from 'aws-lambda';
import { errorTrace, logger } from '../../adapters/logger.ts';
import { type DelayedMessage, lockWaitCount, type Message } from '../../adapters/queues.ts';
import { messageBody } from '../../contracts/message-body.ts';
import { returnWithBackoff } from '../return-with-backoff.ts';
import { type DeliveryJob, idsOf, type SettledJob, type SettledMessage } from './delivery-job.ts';
import { queueUrlOf } from './read-message.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** Returns a new message with the body, message group and lock waits of the job's message. */
export const copyOfMessage = ({ message, body }: DeliveryJob): Message => ({
  body: messageBody(message.body),
  messageGroupId: body.event.tenant_id,
  lockWaitCount: lockWaitCount(message),
});

/** Creates what a sender does with messages that it does not process now. */
export const createRequeue = (dependencies: SenderDependencies) => {
  const { type, queues, retryQueueUrl, retryDelayScale, clock, isTenantThrottled } = dependencies;

  /** Logs an internal error and returns the message to its queue. Counts no attempt and never rejects. */
  const returnAfterError = async (
    message: SQSRecord,
    ids: Readonly<Record<string, string>>,
    error: unknown,
  ): Promise<SettledMessage> => {
    const receives = Number(message.attributes.ApproximateReceiveCount);
    const { MessageGroupId: tenant_id } = message.attributes;
    const outcome = isTenantThrottled(error, tenant_id ?? '') ? 'throttled_keys' : 'internal_error';
    const fields = { type, outcome, message_id: message.messageId, tenant_id, ...ids, receives, ...errorTrace(error) };
    if (outcome === 'internal_error') logger.error('internal error', fields);
    else logger.warn('partition key throttled', fields);
    await returnWithBackoff(queues, queueUrlOf(message, dependencies), message, retryDelayScale, { type });
    return { outcome, isReturned: true };
  };

  /**
   * Waits for the result of a message. If that rejects, returns the message to its queue. Never rejects.
   *
   * @param ids log fields that identify the delivery
   */
  const settledOrReturned = (
    message: SQSRecord,
    settled: Promise<SettledMessage>,
    ids: Readonly<Record<string, string>> = {},
  ): Promise<SettledMessage> => settled.catch((error: unknown) => returnAfterError(message, ids, error));

  /**
   * Waits for the result of a job. If it rejects, returns the message to its queue. Never rejects.
   */
  const settledJob = async (job: DeliveryJob, result: Promise<SettledMessage>): Promise<SettledJob> => {
    const settled = await settledOrReturned(job.message, result, idsOf(job));
    return { job, settled, settledAtMs: clock() };
  };

  return {
    settledOrReturned,

    /** Sends a copy of the message to the retry queue, visible after `waitMs`. Counts no attempt. */
    async reschedule(job: DeliveryJob, waitMs: number): Promise<SettledMessage> {
      await queues.sendDelayed(retryQueueUrl, copyOfMessage(job), waitMs);
      return { outcome: 'not_due' };
    },

    /** Returns the message to its queue for `timeoutMs`, until the claim of another worker ends. Counts no attempt. */
    async returnBusyMessage({ message }: DeliveryJob, timeoutMs: number): Promise<SettledMessage> {
      await queues.changeVisibility(queueUrlOf(message, dependencies), message, timeoutMs);
      return { outcome: 'busy', isReturned: true };
    },

    settledJob,

    /** Sends copies of messages in batches. Counts no attempt. @returns the jobs whose copies were not sent */
    async sendCopies(
      jobs: readonly DeliveryJob[],
      urlOf: (job: DeliveryJob) => string,
      delayOf: (job: DeliveryJob) => Pick<DelayedMessage, 'waitMs' | 'lockWaitCount'>,
    ): Promise<ReadonlySet<DeliveryJob>> {
      const copyOf = (job: DeliveryJob) => ({
        job,
        body: () => messageBody(job.message.body),
        bytes: Buffer.byteLength(job.message.body),
        messageGroupId: job.body.event.tenant_id,
        ...delayOf(job),
      });
      const unsent = await Promise.all(
        [...Map.groupBy(jobs, urlOf)].map(([url, group]) => queues.sendAllDelayed(url, group.map(copyOf))),
      );
      return new Set(unsent.flat().map(({ job }) => job));
    },

    /** Settles jobs whose copies are being sent (`sendCopies`). A message whose copy was not sent returns to its queue. */
    settledCopies(
      jobs: readonly DeliveryJob[],
      unsent: Promise<ReadonlySet<DeliveryJob>>,
      outcome: 'busy' | 'moved',
    ): Promise<SettledJob[]> {
      const resultOf = async (job: DeliveryJob): Promise<SettledMessage> => {
        if ((await unsent).has(job)) throw new Error('The message could not be rescheduled.');
        return { outcome };
      };
      return Promise.all(jobs.map((job) => settledJob(job, resultOf(job))));
    },
  };
};

/** What a sender does with messages that it does not process now. */
export type Requeue = ReturnType<typeof createRequeue>;
