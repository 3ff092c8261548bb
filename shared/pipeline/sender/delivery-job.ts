import type { SQSRecord } from 'aws-lambda';
import type { DeliveryRepository } from '../../adapters/deliveries/delivery-repository.ts';
import type { IsTenantThrottled } from '../../adapters/dynamodb/key-throttling.ts';
import { lockWait, type Message, type Queues } from '../../adapters/queues.ts';
import { parseJson } from '../../contracts/json.ts';
import { type Delivery, delivery } from '../../contracts/messages.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import type { MessageOutcome } from '../../contracts/outcomes.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Settlement } from '../../domain/delivery-metrics.ts';
import type { Transport } from '../../domain/transport.ts';

/**
 * What became of a message. `again` leaves it on the queue, where its visibility has been set; all others are acknowledged.
 * `latency` is how long its delivery took, in ms.
 */
export type SettledMessage = Settlement & {
  outcome: MessageOutcome;
  isReturned?: true;
  latencyMs?: number;
  /** True where a delivery is not recorded since DynamoDB throttles its tenant's own key: no outage. */
  isTenantThrottled?: boolean;
  /** True for a duplicate of what was delivered. */
  wasDelivered?: boolean;
};

/** What a sender needs of the world. */
export type SenderDependencies = {
  type: NotificationTypeId;
  transport: Transport;
  deliveries: DeliveryRepository;
  queues: Queues;
  /** The queue of each type. */
  queueUrls: Record<NotificationTypeId, string>;
  /** The queue of this type's retries. */
  retryQueueUrl: string;
  deadLetterQueueUrl: string;
  retryDelayScale: number;
  /** True where technical contacts are notified of alerts that are given up. */
  sendsDeadLetterEmail: boolean;
  clock: Clock;
  isTenantThrottled: IsTenantThrottled;
};

/** One message under job: what it is, by which dependencies, and for how long they may still be used. */
export type DeliveryJob = {
  dependencies: SenderDependencies;
  message: SQSRecord;
  body: Delivery;
  /** The delivery's id. */
  deliveryId: string;
  /** Milliseconds until the function is killed. */
  timeLeft: () => number;
};

/** Reads the delivery of a message without throwing: whatever is wrong with a text must not fail the rest of the batch. */
export const readDelivery = (text: string): Delivery | undefined => {
  try {
    const parsed = delivery.safeParse(parseJson(text));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
};

/** When a message was sent, ms since the epoch. */
export const sentAt = ({ attributes }: SQSRecord): number => Number(attributes.SentTimestamp);

/**
 * Since when a message has not been processed, in ms since the epoch: since it was sent, and a retry since it was first received,
 * as it waits for minutes on purpose before that.
 */
export const unprocessedSince = (
  message: SQSRecord,
  dependencies: Pick<SenderDependencies, 'type' | 'queueUrls' | 'retryQueueUrl'>,
): number =>
  queueOf(message, dependencies) === dependencies.retryQueueUrl
    ? Number(message.attributes.ApproximateFirstReceiveTimestamp)
    : sentAt(message);

/** The same message once more, byte for byte. */
export const sameMessage = ({ message, body }: DeliveryJob): Message => ({
  body: message.body,
  messageGroupId: body.event.tenant_id,
  lockWait: lockWait(message),
});

/** The address of the queue that a message came from: the type's own, or that of its retries. */
export const queueOf = (
  { eventSourceARN }: SQSRecord,
  { type, queueUrls, retryQueueUrl }: Pick<SenderDependencies, 'type' | 'queueUrls' | 'retryQueueUrl'>,
): string => (eventSourceARN.split(':').at(-1) === retryQueueUrl.split('/').at(-1) ? retryQueueUrl : queueUrls[type]);

/** Returns a message to its queue, invisible for some seconds. */
export const returnToQueue = async (
  { dependencies, message }: DeliveryJob,
  outcome: MessageOutcome,
  seconds: number,
): Promise<SettledMessage> => {
  await dependencies.queues.changeVisibility(queueOf(message, dependencies), message, seconds);
  return { outcome, isReturned: true };
};

/** Sends a message that is not due yet to the queue of retries, visible when it is due, after a wait in ms. No attempt is used. */
export const reschedule = async (job: DeliveryJob, waitMs: number): Promise<SettledMessage> => {
  await job.dependencies.queues.sendDelayed(job.dependencies.retryQueueUrl, sameMessage(job), waitMs);
  return { outcome: 'not_due' };
};
