import { randomUUID } from 'node:crypto';
import { errorTrace, logger } from '../../adapters/logger.ts';
import { type DelayedMessage, lockWait } from '../../adapters/queues.ts';
import { withNextAttempt } from '../../domain/delivery-record.ts';
import { claimedLock, type IncidentLock, lockRetryDelayMs } from '../../domain/incident.ts';
import type { DeliveryTarget } from '../../domain/notification.ts';
import { MIN_TIME_TO_SEND_MS } from '../../domain/transport.ts';
import { type Attempted, attemptDelivery } from './delivery-attempt.ts';
import { type DeliveryJob, queueOf, type SettledMessage } from './delivery-job.ts';
import { persist } from './persist.ts';
import { settle } from './settlement.ts';

/** The messages about one incident for one notification, oldest event first. */
export type IncidentLine = readonly [DeliveryJob, ...DeliveryJob[]];

/** A message and what became of it. */
export type SettledJob = { job: DeliveryJob; settled: SettledMessage };

/** Waits for what becomes of a message, be it a failure of ours; never rejects. */
export type Contain = (job: DeliveryJob, settled: Promise<SettledMessage>) => Promise<SettledJob>;

const newestOf = (line: readonly DeliveryJob[]): DeliveryJob | undefined => line.at(-1);

const lockOf = ({ dependencies, body }: DeliveryJob): IncidentLock =>
  claimedLock(body.event, body.notification_id, randomUUID(), dependencies.clock());

/** The message once more, to ask later. It stays on its queue: a new one should not wait until retries are gathered. */
const waitingMessage = (job: DeliveryJob, newest: DeliveryJob | undefined): DelayedMessage & { job: DeliveryJob } => {
  const { waitCount, isOlder: wasOlder } = lockWait(job.message);
  const isOlder = wasOlder || job !== newest;
  return {
    job,
    body: () => job.message.body,
    bytes: Buffer.byteLength(job.message.body),
    messageGroupId: job.body.event.tenant_id,
    waitMs: lockRetryDelayMs(waitCount, isOlder),
    lockWait: { waitCount: waitCount + 1, isOlder },
  };
};

/**
 * Sends messages anew, so that they ask for the lock later: returning them to their queue would exhaust maxReceiveCount.
 *
 * @param newest the one whose event is the newest of its incident, which asks more often than the others
 * @returns those that SQS did not take
 */
const sendToWait = async (
  jobs: readonly DeliveryJob[],
  newest: DeliveryJob | undefined,
): Promise<ReadonlySet<DeliveryJob>> => {
  const byQueue = Map.groupBy(jobs, ({ message, dependencies }) => queueOf(message, dependencies));
  const refused = await Promise.all(
    [...byQueue].map(([url, some]) =>
      Promise.all(
        some.slice(0, 1).map(({ dependencies }) =>
          dependencies.queues.sendAllDelayed(
            url,
            some.map((job) => waitingMessage(job, newest)),
          ),
        ),
      ),
    ),
  );
  return new Set(refused.flat(2).map(({ job }) => job));
};

const waiting = async (job: DeliveryJob, refused: Promise<ReadonlySet<DeliveryJob>>): Promise<SettledMessage> => {
  if ((await refused).has(job)) throw new Error('The message could not be rescheduled.');
  return { outcome: 'busy' };
};

/**
 * Sends messages anew to ask for the lock later, whether another worker holds it, no time is left, or the destination is not
 * called for now. The newest event that waits is noted in the lock: all others of the incident ask seldom.
 */
const waitForTurn = async (jobs: readonly DeliveryJob[]): Promise<ReadonlySet<DeliveryJob>> => {
  const newest = newestOf(jobs);
  const isCandidate = newest && !lockWait(newest.message).isOlder;
  const isNewest =
    isCandidate && (await newest.dependencies.deliveries.recordWaiting(lockOf(newest), newest.body.event_time_ms));
  return sendToWait(jobs, isNewest ? newest : undefined);
};

const rescheduleAll = (jobs: readonly DeliveryJob[], contain: Contain): Promise<SettledJob[]> => {
  const refused = waitForTurn(jobs);
  return Promise.all(jobs.map((job) => contain(job, waiting(job, refused))));
};

/** The destination does not answer, so it is not called for now: no other message of the incident would get further. */
const isPaused = ({ attemptOutcome }: Attempted): boolean =>
  attemptOutcome.result !== 'delivered' && attemptOutcome.reason === 'circuit_open';

/** The lock does not say yet that an event was delivered: its message must be received again before an older one is sent. */
class LockNotAdvancedError extends Error {
  override readonly name = 'LockNotAdvancedError';

  constructor(cause: unknown) {
    super('The incident lock could not be advanced.', { cause });
  }
}

/** A lock while a worker holds it. */
const createHeldLock = (claimed: IncidentLock, { dependencies: { deliveries, clock } }: DeliveryJob) => {
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
    async advance(job: DeliveryJob, isLast: boolean): Promise<void> {
      const held = lock ?? claimed;
      const time = job.body.event_time_ms;
      lock = undefined;
      try {
        if (isLast) {
          await persist(job, () => deliveries.advanceAndReleaseLock(held, time, clock()));
        } else {
          lock = await persist(job, () => deliveries.advanceLock(held, time));
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
  job: DeliveryJob,
  result: SettledMessage | Attempted,
  lock: HeldLock,
  isLast: boolean,
): Promise<SettledMessage> => {
  if ('outcome' in result) {
    // A worker that delivered it may have crashed before the lock said so.
    if (result.wasDelivered) await lock.advance(job, isLast);
    return result;
  }
  if (result.attemptOutcome.result !== 'delivered') return settle(job, result);
  const advanced = lock.advance(job, isLast);
  await advanced.catch(() => undefined);
  const settled = await settle(job, result);
  await advanced;
  return settled;
};

/** Gives up the claim of a delivery whose destination is not called for now, and lets it and those behind it wait. */
const waitForDestination = async (
  job: DeliveryJob,
  { record }: Attempted,
  waiters: readonly DeliveryJob[],
): Promise<ReadonlySet<DeliveryJob>> => {
  const { deliveries, clock } = job.dependencies;
  await deliveries.update(record, withNextAttempt(record, clock()));
  return waitForTurn(waiters);
};

/** Works on a line while its lock is held; the lock advances with each delivery. */
const workUnderLock = async (
  line: IncidentLine,
  lock: HeldLock,
  target: DeliveryTarget | undefined,
  contain: Contain,
): Promise<SettledJob[]> => {
  const done: SettledJob[] = [];
  let waiters: Promise<SettledJob[]> | undefined;
  for (const job of line) {
    const rest = line.slice(done.length);
    if (job.timeLeft() < MIN_TIME_TO_SEND_MS) {
      waiters = rescheduleAll(rest, contain);
      break;
    }
    const attempt = attemptDelivery(job, target, lock.isNewer(job.body.event_time_ms));
    const paused = await attempt.then(
      (result) => ('outcome' in result || !isPaused(result) ? undefined : result),
      () => undefined,
    );
    if (paused) {
      const refused = waitForDestination(job, paused, rest);
      waiters = Promise.all(rest.map((one) => contain(one, waiting(one, refused))));
      break;
    }
    const settled = attempt.then((result) => settleInOrder(job, result, lock, job === newestOf(line)));
    done.push(await contain(job, settled));
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
): Promise<SettledJob[]> => {
  const [first] = line;
  const { deliveries, clock } = first.dependencies;
  // The messages before it in its batch have used up the time.
  if (first.timeLeft() < MIN_TIME_TO_SEND_MS) return rescheduleAll(line, contain);
  try {
    const found = await target;
    const claimed = await deliveries.claimLock(lockOf(first), clock());
    return claimed
      ? await workUnderLock(line, createHeldLock(claimed, first), found, contain)
      : await rescheduleAll(line, contain);
  } catch (error) {
    return Promise.all(line.map((job) => contain(job, Promise.reject(error))));
  }
};
