import type { SQSRecord } from 'aws-lambda';
import { MAX_DELAY_SECONDS } from '../../adapters/queues.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** The queues that a sender receives from. */
export type QueueUrls = Pick<SenderDependencies, 'type' | 'queueUrls' | 'retryQueueUrl'>;

/** Returns when the message was sent, in ms since the epoch. */
export const sentAtMs = ({ attributes }: SQSRecord): number => Number(attributes.SentTimestamp);

/** Retries that wait this much longer than SQS can delay them are late. */
const LATE_SECONDS = 300;

/** Returns the URL of the queue that the message came from: the type's queue for first attempts or its retry queue. */
export const queueUrlOf = ({ eventSourceARN }: SQSRecord, { type, queueUrls, retryQueueUrl }: QueueUrls): string =>
  eventSourceARN.split(':').at(-1) === retryQueueUrl.split('/').at(-1) ? retryQueueUrl : queueUrls[type];

/** Returns whether the message came from the retry queue. */
export const isRetry = (message: SQSRecord, urls: QueueUrls): boolean =>
  queueUrlOf(message, urls) === urls.retryQueueUrl;

const firstReceivedAtMs = ({ attributes }: SQSRecord): number => Number(attributes.ApproximateFirstReceiveTimestamp);

/**
 * Returns a time, in ms since the epoch, that the clock of SQS has reached. Unlike that of an execution environment, it
 * is the same for all senders.
 */
export const sqsTimeMs = (message: SQSRecord): number => Math.max(sentAtMs(message), firstReceivedAtMs(message));

/** Returns whether SQS has delivered the message before, so that its times may be long ago. */
export const isReceivedAgain = ({ attributes }: SQSRecord): boolean => attributes.ApproximateReceiveCount !== '1';

/**
 * Returns the time from which a message counts as unprocessed, in ms since the epoch: when it was sent or, for a retry,
 * first received, because a retry is delayed intentionally.
 */
export const unprocessedSinceMs = (message: SQSRecord, urls: QueueUrls): number =>
  isRetry(message, urls) ? firstReceivedAtMs(message) : sentAtMs(message);

/**
 * Returns how many seconds too late the latest retry of a batch was first received: beyond the maximum delay of a
 * message. 0 unless retries of at least two tenants are 5 minutes late or more: a backlog of one tenant delays only its
 * own, because the queue is fair.
 */
export const lateRetrySeconds = (messages: readonly SQSRecord[], urls: QueueUrls): number => {
  const late = messages
    .filter((message) => isRetry(message, urls))
    .map((message) => ({
      tenant: message.attributes.MessageGroupId,
      seconds: Math.round((firstReceivedAtMs(message) - sentAtMs(message)) / 1000) - MAX_DELAY_SECONDS,
    }))
    .filter(({ seconds }) => seconds >= LATE_SECONDS);
  const tenants = new Set(late.map(({ tenant }) => tenant));
  return tenants.size < 2 ? 0 : Math.max(...late.map(({ seconds }) => seconds));
};
