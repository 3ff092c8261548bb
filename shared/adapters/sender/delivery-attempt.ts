import { randomUUID } from 'node:crypto';
import { MIN_TIME_TO_SEND } from '../../domain/deliver.ts';
import { attempted, claimedRecord, type DeliveryRecord, ended } from '../../domain/delivery-record.ts';
import type { DeliveryTarget } from '../../domain/notification.ts';
import type { Outcome } from '../../domain/outcome.ts';
import { MAX_AGE, MAX_ATTEMPTS } from '../../domain/retry-schedule.ts';
import { logger } from '../logger.ts';
import { postpone, putBack, type Settled, sameMessage, type Work } from './message.ts';
import { bury, settle } from './settlement.ts';

/** What an incident's order adds to an attempt; nothing for the types without incidents. */
export type Turn = {
  /** True where a newer event of the incident has arrived. */
  superseded: boolean;
  /** Notes, once, that this event has arrived: before its record, so that no crash lets an older one follow it. */
  onDelivered: () => Promise<void>;
};

const noTurn: Turn = { superseded: false, onDelivered: async () => undefined };

/** Delivers, and gives the claim up where a failure of our own kept it from being tried. */
const deliver = async (work: Work, record: DeliveryRecord, { details }: DeliveryTarget): Promise<Outcome> => {
  const { tools, body, id, timeLeft } = work;
  try {
    const { event, notification_id: notificationId } = body;
    return await tools.deliver({ event, notificationId, deliveryId: id, partsDone: record.parts, timeLeft }, details);
  } catch (error) {
    // Where even this fails, the lease ends by itself.
    await tools.deliveries.save({ ...record, lease: 0 }).catch(() => undefined);
    throw error;
  }
};

const workOnClaimed = async (
  work: Work,
  record: DeliveryRecord,
  notification: DeliveryTarget | undefined,
  turn: Turn,
): Promise<Settled> => {
  const { deliveries, clock } = work.tools;
  if (!notification) {
    await deliveries.save(ended(record, 'cancelled'));
    return { verdict: 'cancelled' };
  }
  if (turn.superseded) {
    await deliveries.save(ended(record, 'superseded'));
    return { verdict: 'superseded' };
  }
  if (clock() - record.opened > MAX_AGE) return bury(work, record, { reason: 'expired', cause: 'destination' });
  // A worker died after the last attempt was counted and before it was buried.
  if (record.attempts >= MAX_ATTEMPTS)
    return bury(work, record, { reason: 'attempts exhausted', cause: 'destination' });
  if (work.timeLeft() < MIN_TIME_TO_SEND) {
    await deliveries.save({ ...record, lease: 0 });
    return putBack(work, 'busy', 0);
  }
  const at = clock();
  const outcome = await deliver(work, record, notification);
  return settle(work, attempted(record, outcome, at, clock() - at), outcome, turn.onDelivered);
};

/**
 * Works on one message (design 3, The sender): sends it on where the notification has another type now, claims the
 * delivery, delivers, and settles what came of it. A failure of our own dependencies is thrown: it uses no attempt.
 */
export const attemptDelivery = async (
  work: Work,
  notification: DeliveryTarget | undefined,
  turn: Turn = noTurn,
): Promise<Settled> => {
  const { tools, record, body, id } = work;
  const { deliveries, queues, queueUrls, type, clock } = tools;
  if (notification && notification.type !== type) {
    await queues.sendLater(queueUrls[notification.type], sameMessage(work), 0);
    return { verdict: 'forwarded' };
  }
  if (work.timeLeft() < MIN_TIME_TO_SEND) return putBack(work, 'busy', 0);

  const claim = await deliveries.claim(claimedRecord(body, record.body, randomUUID(), clock()), clock());
  switch (claim.kind) {
    case 'ended':
      return { verdict: 'duplicate' };
    case 'conflict':
      logger.warn('event id used again with other content', { type, delivery_id: id, tenant_id: body.event.tenant_id });
      return { verdict: 'conflict' };
    case 'busy':
      return putBack(work, 'busy', (claim.until - clock()) / 1000 + 1);
    case 'early':
      return postpone(work, claim.due - clock());
    case 'claimed':
      return workOnClaimed(work, claim.record, notification, turn);
  }
};
