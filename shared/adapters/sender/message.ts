import type { SQSRecord } from 'aws-lambda';
import { parseJson } from '../../contracts/json.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import { type Delivery, delivery } from '../../contracts/sender.ts';
import type { Deliver } from '../../domain/deliver.ts';
import type { Settlement } from '../../domain/delivery-metrics.ts';
import type { DeliveryRepository } from '../delivery-repository.ts';
import type { Queues } from '../queues.ts';

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
  | 'failed';

/**
 * What became of a message. `again` leaves it on the queue, where its visibility has been set; all others are acked. `latency`
 * is how long its delivery took, in ms.
 */
export type Settled = Settlement & { verdict: Verdict; again?: true; latency?: number };

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
  /** True where owners hear of alerts that are given up. */
  deadLetterMail: boolean;
  clock: () => number;
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

/** Reads the delivery of a message without throwing: whatever is wrong with a text, its neighbours must go on. */
export const readDelivery = (text: string): Delivery | undefined => {
  try {
    const parsed = delivery.safeParse(parseJson(text));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
};

/** The same message once more, byte for byte. */
export const sameMessage = ({ record, body }: Work) => ({ body: record.body, group: body.event.tenant_id });

/** The address of the queue that a message came from: the type's own, or that of its retries. */
export const queueOf = (
  { eventSourceARN }: SQSRecord,
  { type, queueUrls, retryUrl }: Pick<SenderTools, 'type' | 'queueUrls' | 'retryUrl'>,
): string => (eventSourceARN.split(':').at(-1) === retryUrl.split('/').at(-1) ? retryUrl : queueUrls[type]);

/** Leaves a message on its queue, to come again after some seconds. */
export const putBack = async ({ tools, record }: Work, verdict: Verdict, seconds: number): Promise<Settled> => {
  await tools.queues.putBack(queueOf(record, tools), record, seconds);
  return { verdict, again: true };
};

/**
 * Sends a message on, to come again after a wait in ms: not by visibility, or it would count among the 120,000 in flight. It
 * joins the retries, which keep nobody waiting who is new.
 */
export const comeAgain = (work: Work, wait: number): Promise<void> =>
  work.tools.queues.sendLater(work.tools.retryUrl, sameMessage(work), wait);

/** Lets a message that is not due yet come again when it is, after a wait in ms. */
export const postpone = async (work: Work, wait: number): Promise<Settled> => {
  await comeAgain(work, wait);
  return { verdict: 'early' };
};
