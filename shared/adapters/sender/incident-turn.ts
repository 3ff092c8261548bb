import { randomUUID } from 'node:crypto';
import { MIN_TIME_TO_SEND } from '../../domain/deliver.ts';
import { advanced, claimedTurn, type IncidentTurn, isSuperseded } from '../../domain/incident.ts';
import type { DeliveryTarget } from '../../domain/notification.ts';
import { logger } from '../logger.ts';
import { attemptDelivery } from './delivery-attempt.ts';
import { queueOf, type Settled, sameMessage, type Work } from './message.ts';

/** How soon a message asks again for its turn, in ms: a resolve should not wait out a whole lease. */
const ASK_AGAIN = 2_000;

/**
 * Sends a message on, to ask for its turn soon. As a new message: put back, it would soon have been received too often. On
 * the queue that it came from: what is new should not wait until a batch of retries is gathered, and a retry must not get
 * among what is new.
 */
const askAgain = async (work: Work): Promise<Settled> => {
  const { queues } = work.tools;
  await queues.sendLater(queueOf(work.record, work.tools), sameMessage(work), ASK_AGAIN);
  return { verdict: 'busy' };
};

/**
 * Works on a message about an incident (design 3, Incidents in order): one at a time for each notification and alarm, and
 * never an event older than one that has arrived. So a late CRITICAL cannot open again what its OK has closed.
 */
export const attemptInTurn = async (work: Work, notification: DeliveryTarget | undefined): Promise<Settled> => {
  const { tools, body } = work;
  const { deliveries, clock } = tools;
  // Those before it in its line have used up the time: of a batch of retries, that may be many, again and again.
  if (work.timeLeft() < MIN_TIME_TO_SEND) return askAgain(work);
  const turn = await deliveries.claimTurn(
    claimedTurn(body.event, body.notification_id, randomUUID(), clock()),
    clock(),
  );
  if (!turn) return askAgain(work);

  let held: IncidentTurn | undefined = turn;
  const giveUp = async (next: IncidentTurn) => {
    await deliveries.save({ ...next, lease: 0 });
    held = undefined;
  };
  try {
    return await attemptDelivery(work, notification, {
      superseded: isSuperseded(body.event, turn),
      onDelivered: async () => {
        if (!held) return;
        held = advanced(turn, body.event);
        await giveUp(held);
      },
    });
  } finally {
    // Where this fails, the lease ends by itself.
    if (held) {
      await giveUp(held).catch(() => logger.warn('turn not given up', { type: tools.type, delivery_id: work.id }));
    }
  }
};
