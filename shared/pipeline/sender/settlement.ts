import { errorTrace, logger } from '../../adapters/logger.ts';
import { notificationTypes } from '../../contracts/notification-types.ts';
import type { Failure } from '../../domain/attempt-outcome.ts';
import { bodyForRound, roundOf } from '../../domain/delivery-message.ts';
import { deliveryLatency } from '../../domain/delivery-metrics.ts';
import { type DeliveryRecord, ended, released } from '../../domain/delivery-record.ts';
import { waitAfter } from '../../domain/retry-schedule.ts';
import { deadLetter } from './dead-letter.ts';
import type { Attempted } from './delivery-attempt.ts';
import { type Settled, sameMessage, sentAt, type Work } from './delivery-job.ts';
import { logFailure } from './failure-log.ts';
import { persist } from './persist.ts';

/**
 * Schedules the next attempt as a new message on the queue of retries, sent before the old one is acknowledged. The record,
 * written first, says when the attempt is due. If another worker holds the record by now, or the SDK has applied this write
 * before, the message is sent all the same: it finds out by itself.
 */
const scheduleRetry = async (
  work: Work,
  record: DeliveryRecord,
  failure: Failure,
  waitMs: number,
): Promise<Settled> => {
  const { deliveries, queues, retryUrl, clock } = work.tools;
  await persist(work, () => deliveries.update(record, released(record, clock() + waitMs)));
  const message = sameMessage(work);
  const isOfRound = roundOf(work.body) === record.round;
  await queues.sendDelayed(
    retryUrl,
    isOfRound ? message : { ...message, body: bodyForRound(work.body, record.round) },
    waitMs,
  );
  logFailure(work, 'retried', failure, record.attempts);
  return { verdict: 'retried' };
};

/** `bounced` may follow on `delivered`, so a second, late copy of that write must not undo it. */
const recordDelivered = async ({ tools }: Work, record: DeliveryRecord): Promise<void> => {
  const delivered = ended(record, 'delivered');
  if (notificationTypes[tools.type].canBounce) await tools.deliveries.update(record, delivered);
  else await tools.deliveries.complete(delivered);
};

/** A delivery that cannot be recorded must not be repeated: it is written again while time lasts, then acknowledged. */
const settleDelivered = async (work: Work, record: DeliveryRecord): Promise<Settled> => {
  const { tools, id, body } = work;
  const latency = deliveryLatency(record.opened, sentAt(work.record), tools.clock());
  try {
    await persist(work, () => recordDelivered(work, record));
    return { verdict: 'delivered', latency };
  } catch (error) {
    const ids = { type: tools.type, delivery_id: id, tenant_id: body.event.tenant_id };
    logger.error('delivered but not recorded', { ...ids, ...errorTrace(error) });
    const isTenantThrottled = tools.isTenantThrottled(error, body.event.tenant_id);
    return { verdict: 'unrecorded', latency, isTenantThrottled };
  }
};

const settleOutcome: typeof settle = async (work, { record, outcome }) => {
  if (outcome.result === 'delivered') return settleDelivered(work, record);
  const waitMs = waitAfter(record.attempts, outcome, work.tools.retryScale);
  return waitMs === undefined ? deadLetter(work, record, outcome) : scheduleRetry(work, record, outcome, waitMs);
};

/** Settles what came of an attempt, which its record counts already: it is recorded, tried again later, or dead-lettered. */
export const settle = async (work: Work, attempt: Attempted): Promise<Settled> => ({
  ...(await settleOutcome(work, attempt)),
  attempt: attempt.outcome,
});
