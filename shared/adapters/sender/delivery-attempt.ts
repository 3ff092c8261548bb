import { ulid } from 'ulid';
import { MIN_TIME_TO_SEND } from '../../domain/deliver.ts';
import { attempted, claimedRecord, type DeliveryRecord, ended } from '../../domain/delivery-record.ts';
import type { NotificationHead } from '../../domain/notification.ts';
import { MAX_AGE } from '../../domain/retry-schedule.ts';
import { putBack, type Settled, sameMessage, type Work } from './message.ts';
import { bury, settle } from './settlement.ts';

/** What an incident's order adds to an attempt; nothing for the types without incidents. */
export type Turn = {
  /** True where a newer event of the incident has arrived. */
  superseded: boolean;
  /** Notes that this event has arrived: before its record, so that no crash lets an older one follow it. */
  onDelivered: () => Promise<void>;
};

const noTurn: Turn = { superseded: false, onDelivered: async () => undefined };

const deliverClaimed = async (
  work: Work,
  record: DeliveryRecord,
  notification: NotificationHead | undefined,
  turn: Turn,
): Promise<Settled> => {
  const { tools, body, id } = work;
  const { deliveries, clock, deliver } = tools;
  if (!notification) {
    await deliveries.save(ended(record, 'cancelled'));
    return { verdict: 'cancelled' };
  }
  if (turn.superseded) {
    await deliveries.save(ended(record, 'superseded'));
    return { verdict: 'superseded' };
  }
  if (clock() - record.opened > MAX_AGE) return bury(work, record, { reason: 'expired', cause: 'destination' });
  const at = clock();
  const outcome = await deliver({ event: body.event, deliveryId: id, partsDone: record.parts }, notification.details);
  return settle(work, attempted(record, outcome, at, clock() - at), outcome, turn.onDelivered);
};

/**
 * Works on one message (design 3, The sender): sends it on where the notification has another type now, claims the
 * delivery, delivers, and settles what came of it. A failure of our own dependencies is thrown: it uses no attempt.
 */
export const attemptDelivery = async (
  work: Work,
  notification: NotificationHead | undefined,
  turn: Turn = noTurn,
): Promise<Settled> => {
  const { tools, body, timeLeft } = work;
  const { deliveries, queues, queueUrls, type, clock } = tools;
  if (notification && notification.type !== type) {
    await queues.sendLater(queueUrls[notification.type], sameMessage(work), 0);
    return { verdict: 'forwarded' };
  }
  if (timeLeft() < MIN_TIME_TO_SEND) return putBack(work, 'busy', 0);

  const claim = await deliveries.claim(claimedRecord(body.event, body.notification_id, ulid(), clock()), clock());
  switch (claim.kind) {
    case 'ended':
      return { verdict: 'duplicate' };
    case 'busy':
      return putBack(work, 'busy', (claim.until - clock()) / 1000 + 1);
    case 'early':
      // Not by visibility: what waits long must not count among the 120,000 messages in flight.
      await queues.sendLater(queueUrls[type], sameMessage(work), claim.due - clock());
      return { verdict: 'early' };
    case 'claimed':
      break;
  }
  try {
    return await deliverClaimed(work, claim.record, notification, turn);
  } catch (error) {
    // Where even this fails, the lease ends by itself.
    await deliveries.save({ ...claim.record, lease: 0 }).catch(() => undefined);
    throw error;
  }
};
