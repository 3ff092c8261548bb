import { setTimeout as pause } from 'node:timers/promises';
import { deliveryBody } from '../../contracts/sender.ts';
import { deliveryLatency } from '../../domain/delivery-metrics.ts';
import { type DeliveryRecord, ended } from '../../domain/delivery-record.ts';
import { DEFAULT_NOTIFICATION_ID } from '../../domain/notification-id.ts';
import type { Failure, Outcome } from '../../domain/outcome.ts';
import { waitAfter } from '../../domain/retry-schedule.ts';
import { isUndeliveredNotice, undeliveredNotice } from '../../domain/undelivered-notice.ts';
import { logger } from '../logger.ts';
import { comeAgain, type Settled, sameMessage, type Verdict, type Work } from './message.ts';

/** What logs, records and dead letters hold of a failure. */
type Cause = Pick<Failure, 'reason' | 'cause' | 'status'>;

/** The last try of the completing write may take this long, in ms: 3 tries of 4 s (`awsConfig`) and their pauses. */
const MIN_TIME_TO_RECORD = 13_000;
/** Between two tries of it, in ms. */
const RECORD_AGAIN = 250;

const logFailure = ({ tools, id, body }: Work, verdict: Verdict, failure: Cause, attempts: number): void => {
  const { reason, cause, status } = failure;
  const { notification_id, event } = body;
  logger.warn('delivery failed', {
    verdict,
    type: tools.type,
    delivery_id: id,
    tenant_id: event.tenant_id,
    event_id: event.event_id,
    notification_id,
    reason,
    cause,
    status,
    attempts,
  });
};

/** Tells the owner by a delivery to the technical contacts, whose record lets one a day through. Of their own there is none. */
const tellOwner = async ({ tools, body }: Work): Promise<void> => {
  if (!tools.deadLetterMail || tools.type === 'technicalContactsEmail') return;
  const tenant = body.event.tenant_id;
  const notice = undeliveredNotice(tenant, body.notification_id, tools.clock());
  await tools.queues.sendLater(
    tools.queueUrls.technicalContactsEmail,
    { body: deliveryBody(DEFAULT_NOTIFICATION_ID, JSON.stringify(notice)), group: tenant },
    0,
  );
};

/**
 * The order matters (design 3, Dead letters): the dead-letter queue has it, then the record says so, then the message
 * is acked. The claim holds until then, or a duplicate would send what is being buried. A notice of ours that cannot reach an owner without contacts is let go: it would be its own subject.
 */
export const bury = async (work: Work, record: DeliveryRecord, failure: Cause): Promise<Settled> => {
  const { tools } = work;
  // What the attempt did, parts that have arrived above all, must not be forgotten where burying fails.
  await tools.deliveries.save(record);
  if (failure.reason === 'no contacts' && isUndeliveredNotice(work.body.event)) {
    await tools.deliveries.save(ended(record, 'cancelled'));
    return { verdict: 'cancelled' };
  }
  await tellOwner(work);
  await tools.queues.deadLetter(tools.deadLetterUrl, sameMessage(work), { ...failure, attempts: record.attempts });
  await tools.deliveries.save(ended(record, 'dead'));
  logFailure(work, 'dead', failure, record.attempts);
  return { verdict: 'dead', cause: failure.cause };
};

/**
 * A retry is a new message on the queue of retries, sent before the old one is acked; the record, written first, says when it
 * is due.
 */
const retry = async (work: Work, record: DeliveryRecord, failure: Failure, wait: number): Promise<Settled> => {
  const { tools } = work;
  await tools.deliveries.save({ ...record, due: tools.clock() + wait, lease: 0 });
  await comeAgain(work, wait);
  logFailure(work, 'retried', failure, record.attempts);
  return { verdict: 'retried' };
};

/** A record that cannot be written after the send must not make the alert go out twice: it is tried again, then acked. */
const recordDelivered = async (
  work: Work,
  record: DeliveryRecord,
  onDelivered: () => Promise<void>,
): Promise<Settled> => {
  const { tools, timeLeft, id } = work;
  const latency = deliveryLatency(record.opened, Number(work.record.attributes.SentTimestamp), tools.clock());
  while (true) {
    try {
      await onDelivered();
      await tools.deliveries.save(ended(record, 'delivered'));
      return { verdict: 'delivered', latency };
    } catch {
      if (timeLeft() > MIN_TIME_TO_RECORD) {
        await pause(RECORD_AGAIN);
        continue;
      }
      logger.error('delivered but not recorded', {
        type: tools.type,
        delivery_id: id,
        tenant_id: work.body.event.tenant_id,
      });
      return { verdict: 'unrecorded', latency };
    }
  }
};

const settleOutcome: typeof settle = async (work, record, outcome, onDelivered) => {
  if (outcome.result === 'delivered') return recordDelivered(work, record, onDelivered);
  const wait = waitAfter(record.attempts, outcome, work.tools.retryScale);
  return wait === undefined ? bury(work, record, outcome) : retry(work, record, outcome, wait);
};

/**
 * Settles what came of an attempt, which `record` counts already: it is recorded, tried again later, or buried.
 *
 * @param onDelivered what must be on record before the delivery is
 */
export const settle = async (
  work: Work,
  record: DeliveryRecord,
  outcome: Outcome,
  onDelivered: () => Promise<void>,
): Promise<Settled> => {
  const settled = await settleOutcome(work, record, outcome, onDelivered);
  return { ...settled, attempt: outcome };
};
