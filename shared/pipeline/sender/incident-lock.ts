import { randomUUID } from 'node:crypto';
import { errorTrace, logger } from '../../adapters/logger.ts';
import { type DelayedMessage, lockWait } from '../../adapters/queues.ts';
import { released } from '../../domain/delivery-record.ts';
import { claimedLock, type IncidentLock, lockWaitMs } from '../../domain/incident.ts';
import type { DeliveryTarget } from '../../domain/notification.ts';
import { MIN_TIME_TO_SEND } from '../../domain/transport.ts';
import { type Attempted, attemptDelivery } from './delivery-attempt.ts';
import { queueOf, type Settled, type Work } from './delivery-job.ts';
import { persist } from './persist.ts';
import { settle } from './settlement.ts';

/** The messages about one incident for one notification, oldest event first. */
export type IncidentLine = readonly [Work, ...Work[]];

/** A message and what became of it. */
export type SettledWork = { work: Work; settled: Settled };

/** Waits for what becomes of a message, be it a failure of ours; never rejects. */
export type Contain = (work: Work, settled: Promise<Settled>) => Promise<SettledWork>;

const newestOf = (line: readonly Work[]): Work | undefined => line.at(-1);

const lockOf = ({ tools, body }: Work): IncidentLock =>
  claimedLock(body.event, body.notification_id, randomUUID(), tools.clock());

/** The message once more, to ask later. It stays on its queue: a new one should not wait until retries are gathered. */
const waitingMessage = (work: Work, newest: Work | undefined): DelayedMessage & { work: Work } => {
  const { asked, isOlder: wasOlder } = lockWait(work.record);
  const isOlder = wasOlder || work !== newest;
  return {
    work,
    body: () => work.record.body,
    bytes: Buffer.byteLength(work.record.body),
    group: work.body.event.tenant_id,
    waitMs: lockWaitMs(asked, isOlder),
    lockWait: { asked: asked + 1, isOlder },
  };
};

/**
 * Sends messages anew, so that they ask for the lock later: returning them to their queue would exhaust maxReceiveCount.
 *
 * @param newest the one whose event is the newest of its incident, which asks more often than the others
 * @returns those that SQS did not take
 */
const sendToWait = async (works: readonly Work[], newest: Work | undefined): Promise<ReadonlySet<Work>> => {
  const byQueue = Map.groupBy(works, ({ record, tools }) => queueOf(record, tools));
  const refused = await Promise.all(
    [...byQueue].map(([url, some]) =>
      Promise.all(
        some.slice(0, 1).map(({ tools }) =>
          tools.queues.sendAllDelayed(
            url,
            some.map((work) => waitingMessage(work, newest)),
          ),
        ),
      ),
    ),
  );
  return new Set(refused.flat(2).map(({ work }) => work));
};

const waiting = async (work: Work, refused: Promise<ReadonlySet<Work>>): Promise<Settled> => {
  if ((await refused).has(work)) throw new Error('The message could not be rescheduled.');
  return { verdict: 'busy' };
};

/**
 * Sends messages anew to ask for the lock later, whether another worker holds it, no time is left, or the destination is not
 * called for now. The newest event that waits is noted in the lock: all others of the incident ask seldom.
 */
const waitForTurn = async (works: readonly Work[]): Promise<ReadonlySet<Work>> => {
  const newest = newestOf(works);
  const isCandidate = newest && !lockWait(newest.record).isOlder;
  const isNewest =
    isCandidate && (await newest.tools.deliveries.noteWaiting(lockOf(newest), newest.body.event_time_ms));
  return sendToWait(works, isNewest ? newest : undefined);
};

const rescheduleAll = (works: readonly Work[], contain: Contain): Promise<SettledWork[]> => {
  const refused = waitForTurn(works);
  return Promise.all(works.map((work) => contain(work, waiting(work, refused))));
};

/** The destination does not answer, so it is not called for now: no other message of the incident would get further. */
const isPaused = ({ outcome }: Attempted): boolean =>
  outcome.result !== 'delivered' && outcome.reason === 'origin paused';

/** The lock does not say yet that an event was delivered: its message must be received again before an older one is sent. */
class LockNotAdvancedError extends Error {
  override readonly name = 'LockNotAdvancedError';

  constructor(cause: unknown) {
    super('The incident lock could not be advanced.', { cause });
  }
}

/** A lock while a worker holds it. */
const createHeldLock = (claimed: IncidentLock, { tools: { deliveries, clock } }: Work) => {
  let lock: IncidentLock | undefined = claimed;
  let newest = claimed.newest_event_at_ms;
  return {
    isNewer: (time: number): boolean => time < newest,
    /**
     * Records that an event was delivered, and releases the lock with the last one. Where that fails, the lock is kept until its
     * lease ends: nobody may send an older event.
     *
     * @throws LockNotAdvancedError
     */
    async advance(work: Work, isLast: boolean): Promise<void> {
      const held = lock ?? claimed;
      const time = work.body.event_time_ms;
      lock = undefined;
      try {
        if (isLast) {
          await persist(work, () => deliveries.advanceAndReleaseLock(held, time, clock()));
        } else {
          lock = await persist(work, () => deliveries.advanceLock(held, time));
          newest = lock.newest_event_at_ms;
        }
      } catch (error) {
        throw new LockNotAdvancedError(error);
      }
    },
    /** Releases the lock unless it was; where that fails, the lease ends by itself. */
    async release(): Promise<void> {
      if (!lock) return;
      await deliveries
        .releaseLock(lock, clock())
        .catch((error: unknown) => logger.warn('incident lock not released', errorTrace(error)));
    },
  };
};

type HeldLock = ReturnType<typeof createHeldLock>;

/** What an attempt came to, settled; one that delivered is in the lock before it is on record, so that no crash lets an older follow. */
const settleInOrder = async (
  work: Work,
  result: Settled | Attempted,
  lock: HeldLock,
  isLast: boolean,
): Promise<Settled> => {
  if ('verdict' in result) {
    // A worker that delivered it may have crashed before the lock said so.
    if (result.wasDelivered) await lock.advance(work, isLast);
    return result;
  }
  if (result.outcome.result !== 'delivered') return settle(work, result);
  const advanced = lock.advance(work, isLast);
  await advanced.catch(() => undefined);
  const settled = await settle(work, result);
  await advanced;
  return settled;
};

/** Gives up the claim of a delivery whose destination is not called for now, and lets it and those behind it wait. */
const waitForDestination = async (
  work: Work,
  { record }: Attempted,
  waiters: readonly Work[],
): Promise<ReadonlySet<Work>> => {
  const { deliveries, clock } = work.tools;
  await deliveries.update(record, released(record, clock()));
  return waitForTurn(waiters);
};

/** Works on a line while its lock is held; the lock advances with each delivery. */
const workUnderLock = async (
  line: IncidentLine,
  lock: HeldLock,
  target: DeliveryTarget | undefined,
  contain: Contain,
): Promise<SettledWork[]> => {
  const done: SettledWork[] = [];
  let waiters: Promise<SettledWork[]> | undefined;
  for (const work of line) {
    const rest = line.slice(done.length);
    if (work.timeLeft() < MIN_TIME_TO_SEND) {
      waiters = rescheduleAll(rest, contain);
      break;
    }
    const attempt = attemptDelivery(work, target, lock.isNewer(work.body.event_time_ms));
    const paused = await attempt.then(
      (result) => ('verdict' in result || !isPaused(result) ? undefined : result),
      () => undefined,
    );
    if (paused) {
      const refused = waitForDestination(work, paused, rest);
      waiters = Promise.all(rest.map((one) => contain(one, waiting(one, refused))));
      break;
    }
    const settled = attempt.then((result) => settleInOrder(work, result, lock, work === newestOf(line)));
    done.push(await contain(work, settled));
  }
  const rescheduled = await waiters;
  await lock.release();
  return [...done, ...(rescheduled ?? [])];
};

/**
 * Delivers alerts about one incident: one worker at a time for each notification and alarm, and never an event older than one
 * that was delivered. So a late CRITICAL cannot open again what its OK has closed.
 *
 * @param target the notification's, undefined where it was deleted
 */
export const deliverInOrder = async (
  line: IncidentLine,
  target: Promise<DeliveryTarget | undefined>,
  contain: Contain,
): Promise<SettledWork[]> => {
  const [first] = line;
  const { deliveries, clock } = first.tools;
  // The messages before it in its batch have used up the time.
  if (first.timeLeft() < MIN_TIME_TO_SEND) return rescheduleAll(line, contain);
  try {
    const found = await target;
    const claimed = await deliveries.claimLock(lockOf(first), clock());
    return claimed
      ? await workUnderLock(line, createHeldLock(claimed, first), found, contain)
      : await rescheduleAll(line, contain);
  } catch (error) {
    return Promise.all(line.map((work) => contain(work, Promise.reject(error))));
  }
};
