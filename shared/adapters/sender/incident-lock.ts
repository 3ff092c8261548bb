import { randomUUID } from 'node:crypto';
import { MIN_TIME_TO_SEND } from '../../domain/deliver.ts';
import { released } from '../../domain/delivery-record.ts';
import { claimedLock, type IncidentLock, lockWaitMs } from '../../domain/incident.ts';
import type { DeliveryTarget } from '../../domain/notification.ts';
import { errorTrace, logger } from '../logger.ts';
import { type DelayedMessage, lockWait } from '../queues.ts';
import { type Attempted, attemptDelivery } from './delivery-attempt.ts';
import { queueOf, type Settled, type Work } from './message.ts';
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

const rescheduleAll = (
  works: readonly Work[],
  refused: Promise<ReadonlySet<Work>>,
  contain: Contain,
): Promise<SettledWork[]> => Promise.all(works.map((work) => contain(work, waiting(work, refused))));

/** Another worker holds the lock. The newest event that waits is noted in it: all others of the incident ask seldom. */
const waitForHolder = async (line: IncidentLine, lock: IncidentLock): Promise<ReadonlySet<Work>> => {
  const newest = newestOf(line);
  const isCandidate = newest && !lockWait(newest.record).isOlder;
  const isNewest = isCandidate && (await newest.tools.deliveries.noteWaiting(lock, newest.body.event_time_ms));
  return sendToWait(line, isNewest ? newest : undefined);
};

/** The destination does not answer, so it is not called for now: no other message of the incident would get further. */
const isPaused = ({ outcome }: Attempted): boolean =>
  outcome.result !== 'delivered' && outcome.reason === 'origin paused';

/** Works on a line while its lock is held; the lock advances with each delivery. */
const workUnderLock = async (
  line: IncidentLine,
  held: IncidentLock,
  target: DeliveryTarget | undefined,
  contain: Contain,
): Promise<SettledWork[]> => {
  const { deliveries, clock } = line[0].tools;
  const done: SettledWork[] = [];
  let lock = held;
  let isHeld = true;
  let paused: Work | undefined;

  /** Before the delivery's own record, so that no crash lets an older event follow. @returns false where it cannot be written */
  const advance = async (work: Work): Promise<boolean> => {
    const time = work.body.event_time_ms;
    try {
      if (work === newestOf(line)) {
        await persist(work, () => deliveries.advanceAndReleaseLock(lock, time));
        isHeld = false;
      } else {
        lock = await persist(work, () => deliveries.advanceLock(lock, time));
      }
      return true;
    } catch (error) {
      logger.error('incident lock not advanced', { delivery_id: work.id, ...errorTrace(error) });
      return false;
    }
  };

  const workOn = async (work: Work): Promise<Settled> => {
    const attempt = await attemptDelivery(work, target, work.body.event_time_ms < lock.newest_event_at_ms);
    if ('verdict' in attempt) return attempt;
    if (isPaused(attempt)) {
      paused = work;
      await deliveries.update(attempt.record, released(attempt.record, clock()));
      return waiting(work, sendToWait([work], newestOf(line)));
    }
    const isOrdered = attempt.outcome.result !== 'delivered' || (await advance(work));
    const settled = await settle(work, attempt);
    return isOrdered ? settled : { ...settled, verdict: 'unrecorded' };
  };

  for (const work of line) {
    if (paused || work.timeLeft() < MIN_TIME_TO_SEND) break;
    done.push(await contain(work, workOn(work)));
  }
  if (isHeld) {
    // Where this fails, the lease ends by itself.
    await deliveries
      .releaseLock(lock)
      .catch((error: unknown) => logger.warn('incident lock not released', errorTrace(error)));
  }
  const rest = line.slice(done.length);
  return [...done, ...(await rescheduleAll(rest, sendToWait(rest, newestOf(line)), contain))];
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
  if (first.timeLeft() < MIN_TIME_TO_SEND) return rescheduleAll(line, sendToWait(line, newestOf(line)), contain);
  try {
    const found = await target;
    const claim = lockOf(first);
    const lock = await deliveries.claimLock(claim, clock());
    return lock
      ? await workUnderLock(line, lock, found, contain)
      : await rescheduleAll(line, waitForHolder(line, claim), contain);
  } catch (error) {
    return Promise.all(line.map((work) => contain(work, Promise.reject(error))));
  }
};
