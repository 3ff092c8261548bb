import type { SQSRecord } from 'aws-lambda';
import { ulid } from 'ulid';
import { parseJson } from '../../contracts/json.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import type { Delivery } from '../../contracts/sender.ts';
import { delivery } from '../../contracts/sender.ts';
import { type Deliver, MIN_TIME_TO_SEND } from '../../domain/deliver.ts';
import { deliveryId } from '../../domain/delivery-key.ts';
import { attempted, claimedRecord, type DeliveryRecord, ended } from '../../domain/delivery-record.ts';
import type { NotificationHead } from '../../domain/notification.ts';
import type { Cause, Failure, Outcome, Reason } from '../../domain/outcome.ts';
import { MAX_AGE, waitAfter } from '../../domain/retry-schedule.ts';
import type { DeliveryRepository } from '../delivery-repository.ts';
import { logger } from '../logger.ts';
import type { Queues } from '../queues.ts';

/** What became of a message: the words that are counted for a type's deliveries. */
export type Verdict =
  | 'delivered'
  | 'retried'
  | 'dead'
  | 'cancelled'
  | 'forwarded'
  | 'duplicate'
  | 'early'
  | 'busy'
  | 'unrecorded'
  | 'failed';

/** `again` leaves the message on the queue, where its visibility has been set; all others are acked. */
export type Settled = { verdict: Verdict; again?: true };

/** A message with the delivery in it, or undefined where it is none. */
export type IncomingMessage = { record: SQSRecord; body: Delivery | undefined };

/** Reads the delivery of a message without throwing: whatever is wrong with a text, its neighbours must go on. */
export const readMessage = (record: SQSRecord): IncomingMessage => {
  try {
    const parsed = delivery.safeParse(parseJson(record.body));
    return { record, body: parsed.success ? parsed.data : undefined };
  } catch {
    return { record, body: undefined };
  }
};

/** What a sender needs of the world. */
export type SenderTools = {
  type: NotificationTypeId;
  deliver: Deliver;
  deliveries: DeliveryRepository;
  queues: Queues;
  /** The queue of each type. */
  queueUrls: Record<NotificationTypeId, string>;
  deadLetterUrl: string;
  retryScale: number;
  clock: () => number;
};

type Step = { tools: SenderTools; record: SQSRecord; body: Delivery; id: string };

const outgoing = ({ record, body }: Step) => ({ body: record.body, group: body.event.tenant_id });

const logFailure = (
  { tools, id, body }: Step,
  verdict: Verdict,
  failure: { reason: Reason; cause: Cause; status?: number | undefined },
  attempts: number,
) =>
  logger.warn('delivery failed', {
    verdict,
    type: tools.type,
    delivery_id: id,
    notification_id: body.notification_id,
    reason: failure.reason,
    cause: failure.cause,
    status: failure.status,
    attempts,
  });

/** The order matters (design 3, Dead letters): the dead-letter queue has it, then the record says so, then the message is acked. */
const bury = async (
  step: Step,
  record: DeliveryRecord,
  failure: { reason: Reason; cause: Cause; status?: number | undefined },
): Promise<Settled> => {
  const { tools } = step;
  await tools.queues.deadLetter(tools.deadLetterUrl, outgoing(step), { ...failure, attempts: record.attempts });
  await tools.deliveries.save(ended(record, 'dead'));
  logFailure(step, 'dead', failure, record.attempts);
  return { verdict: 'dead' };
};

/** A retry is a new message, sent before the old one is acked; the record, written first, says when it is due. */
const retry = async (step: Step, record: DeliveryRecord, failure: Failure, wait: number): Promise<Settled> => {
  const { tools } = step;
  await tools.deliveries.save({ ...record, due: tools.clock() + wait });
  await tools.queues.sendLater(tools.queueUrls[tools.type], outgoing(step), wait);
  logFailure(step, 'retried', failure, record.attempts);
  return { verdict: 'retried' };
};

/** A record that cannot be written after the send must not make the alert go out twice: it is tried again, then acked. */
const recordDelivered = async (step: Step, record: DeliveryRecord, timeLeft: () => number): Promise<Settled> => {
  while (true) {
    try {
      await step.tools.deliveries.save(ended(record, 'delivered'));
      return { verdict: 'delivered' };
    } catch {
      if (timeLeft() < MIN_TIME_TO_RECORD) {
        logger.error('delivered but not recorded', { type: step.tools.type, delivery_id: step.id });
        return { verdict: 'unrecorded' };
      }
    }
  }
};

/** A last try of the completing write may take this long, in ms: 3 tries of 3 s, as `awsConfig` has it. */
const MIN_TIME_TO_RECORD = 10_000;

const settle = async (
  step: Step,
  record: DeliveryRecord,
  outcome: Outcome,
  timeLeft: () => number,
): Promise<Settled> => {
  if (outcome.result === 'delivered') return recordDelivered(step, record, timeLeft);
  const wait = waitAfter(record.attempts, outcome, step.tools.retryScale);
  return wait === undefined ? bury(step, record, outcome) : retry(step, record, outcome, wait);
};

/**
 * Works on one message (design 3, The sender): sends it on where the notification has another type now, claims the
 * delivery, delivers, and settles what came of it. A failure of our own dependencies is thrown: it uses no attempt.
 */
export const attemptDelivery = async (
  tools: SenderTools,
  record: SQSRecord,
  body: Delivery,
  notification: NotificationHead | undefined,
  timeLeft: () => number,
): Promise<Settled> => {
  const { deliveries, queues, queueUrls, type, clock, deliver } = tools;
  const step: Step = { tools, record, body, id: deliveryId(body.event, body.notification_id) };
  if (notification && notification.type !== type) {
    await queues.sendLater(queueUrls[notification.type], outgoing(step), 0);
    return { verdict: 'forwarded' };
  }

  const ownQueue = queueUrls[type];
  const putBack = async (verdict: Verdict, seconds: number): Promise<Settled> => {
    await queues.putBack(ownQueue, record, seconds);
    return { verdict, again: true };
  };
  if (timeLeft() < MIN_TIME_TO_SEND) return putBack('busy', 0);

  const claim = await deliveries.claim(claimedRecord(body.event, body.notification_id, ulid(), clock()), clock());
  if (claim.kind === 'ended') return { verdict: 'duplicate' };
  if (claim.kind === 'busy') return putBack('busy', (claim.until - clock()) / 1000 + 1);
  if (claim.kind === 'early') {
    // Not by visibility: what waits long must not count among the 120,000 messages in flight.
    await queues.sendLater(ownQueue, outgoing(step), claim.due - clock());
    return { verdict: 'early' };
  }

  if (!notification) {
    await deliveries.save(ended(claim.record, 'cancelled'));
    return { verdict: 'cancelled' };
  }
  if (clock() - claim.record.opened > MAX_AGE) {
    return bury(step, claim.record, { reason: 'expired', cause: 'destination' });
  }

  const at = clock();
  const outcome = await deliver(
    { event: body.event, deliveryId: step.id, partsDone: claim.record.parts },
    notification.details,
  );
  const after = attempted(claim.record, outcome, at, clock() - at);
  return settle(step, after, outcome, timeLeft);
};
