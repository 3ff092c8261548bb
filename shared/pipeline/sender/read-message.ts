import type { SQSRecord } from 'aws-lambda';
import { parseJson } from '../../contracts/json.ts';
import { type Delivery, delivery } from '../../contracts/messages.ts';
import type { SenderDependencies } from './delivery-job.ts';

type QueueUrls = Pick<SenderDependencies, 'type' | 'queueUrls' | 'retryQueueUrl'>;

/**
 * Returns the delivery, or undefined if the body is invalid. Never throws: an invalid message must not fail the rest of
 * the batch.
 */
export const parseDelivery = (body: string): Delivery | undefined => {
  try {
    const parsed = delivery.safeParse(parseJson(body));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
};

/** Returns when the message was sent, in ms since the epoch. */
export const sentAtMs = ({ attributes }: SQSRecord): number => Number(attributes.SentTimestamp);

/** Returns the URL of the queue that the message came from: the type's queue for first attempts or its retry queue. */
export const queueUrlOf = ({ eventSourceARN }: SQSRecord, { type, queueUrls, retryQueueUrl }: QueueUrls): string =>
  eventSourceARN.split(':').at(-1) === retryQueueUrl.split('/').at(-1) ? retryQueueUrl : queueUrls[type];

/**
 * Returns the time from which a message counts as unprocessed, in ms since the epoch: when it was sent or, for a retry,
 * first received, because a retry is delayed intentionally.
 */
export const unprocessedSinceMs = (message: SQSRecord, urls: QueueUrls): number =>
  queueUrlOf(message, urls) === urls.retryQueueUrl
    ? Number(message.attributes.ApproximateFirstReceiveTimestamp)
    : sentAtMs(message);
