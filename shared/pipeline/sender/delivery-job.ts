import type { SQSRecord } from 'aws-lambda';
import type { DeliveryRepository } from '../../adapters/deliveries/delivery-repository.ts';
import type { IsTenantThrottled } from '../../adapters/dynamodb/key-throttling.ts';
import { lockWait, type Message, type Queues } from '../../adapters/queues.ts';
import { parseJson } from '../../contracts/json.ts';
import { type Delivery, delivery } from '../../contracts/messages.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import type { Settlement } from '../../domain/delivery-metrics.ts';
import type { Deliver } from '../../domain/transport.ts';

/** What became of a message: the words that are counted for a type's deliveries. */
export type Verdict =
  | 'delivered'
  | 'retried'
  | 'dead'
  | 'superseded'
  | 'cancelled'
  | 'forwarded'
  | 'duplicate'
  | 'conflict'
  | 'early'
  | 'busy'
  | 'unrecorded'
  | 'throttled_keys'
  | 'internal_error';

/**
 * What became of a message. `again` leaves it on the queue, where its visibility has been set; all others are acknowledged.
 * `latency` is how long its delivery took, in ms.
 */
export type Settled = Settlement & {
  verdict: Verdict;
  again?: true;
  latency?: number;
  /** True where a delivery is not recorded since DynamoDB throttles its tenant's own key: no outage. */
  isTenantThrottled?: boolean;
  /** True for a duplicate of what was delivered. */
  wasDelivered?: boolean;
};

/** What a sender needs of the world. */
export type SenderTools = {
  type: NotificationTypeId;
  deliver: Deliver;
  deliveries: DeliveryRepository;
  queues: Queues;
  /** The queue of each type. */
  queueUrls: Record<NotificationTypeId, string>;
  /** The queue of this type's retries. */
  retryUrl: string;
  deadLetterUrl: string;
  retryScale: number;
  /** True where technical contacts are notified of alerts that are given up. */
  deadLetterMail: boolean;
  clock: () => number;
  isTenantThrottled: IsTenantThrottled;
};

/** One message under work: what it is, by which tools, and for how long they may still be used. */
export type Work = {
  tools: SenderTools;
  record: SQSRecord;
  body: Delivery;
  /** The delivery's id. */
  id: string;
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
  tools: Pick<SenderTools, 'type' | 'queueUrls' | 'retryUrl'>,
): number =>
  queueOf(message, tools) === tools.retryUrl
    ? Number(message.attributes.ApproximateFirstReceiveTimestamp)
    : sentAt(message);

/** The same message once more, byte for byte. */
export const sameMessage = ({ record, body }: Work): Message => ({
  body: record.body,
  group: body.event.tenant_id,
  lockWait: lockWait(record),
});

/** The address of the queue that a message came from: the type's own, or that of its retries. */
export const queueOf = (
  { eventSourceARN }: SQSRecord,
  { type, queueUrls, retryUrl }: Pick<SenderTools, 'type' | 'queueUrls' | 'retryUrl'>,
): string => (eventSourceARN.split(':').at(-1) === retryUrl.split('/').at(-1) ? retryUrl : queueUrls[type]);

/** Returns a message to its queue, invisible for some seconds. */
export const returnToQueue = async ({ tools, record }: Work, verdict: Verdict, seconds: number): Promise<Settled> => {
  await tools.queues.changeVisibility(queueOf(record, tools), record, seconds);
  return { verdict, again: true };
};

/** Sends a message that is not due yet to the queue of retries, visible when it is due, after a wait in ms. No attempt is used. */
export const reschedule = async (work: Work, waitMs: number): Promise<Settled> => {
  await work.tools.queues.sendDelayed(work.tools.retryUrl, sameMessage(work), waitMs);
  return { verdict: 'early' };
};
