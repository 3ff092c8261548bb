import { randomUUID } from 'node:crypto';
import { errorTrace, logger } from '../../adapters/logger.ts';
import { lockWaitCount } from '../../adapters/queues.ts';
import { withNextAttempt } from '../../domain/delivery-record.ts';
import { isOlder } from '../../domain/event-time.ts';
import { claimedLock, type IncidentLock, lockRetryDelayMs, newestEventTime } from '../../domain/incident.ts';
import type { DeliveryTarget } from '../../domain/notification.ts';
import { MIN_TIME_TO_SEND_MS } from '../../domain/transport.ts';
import type { Attempt, UnsettledAttempt } from './delivery-attempt.ts';
import { type DeliveryJob, idsOf, type SettledJob, type SettledMessage } from './delivery-job.ts';
import { persist } from './persist.ts';
import { queueUrlOf } from './read-message.ts';
import type { Requeue } from './requeue.ts';
import type { SenderDependencies } from './sender-dependencies.ts';
import type { SettleAttempt } from './settlement.ts';

/** The jobs of a batch that belong to one incident of one notification, oldest event first. */
export type IncidentJobs = readonly [DeliveryJob, ...DeliveryJob[]];

/**
 * The event was delivered, but the lock does not record it: the message must be received again before an older event is
 * sent.
 */
class LockNotAdvancedError extends Error {
  override readonly name = 'LockNotAdvancedError';

  constructor(cause: unknown) {
    super('The incident lock could not be advanced.', { cause });
  }
}

/** A lock that this worker has claimed, passed from each job to the next. */
type HeldLock = {
  lock: IncidentLock;
  /**
   * False once the lock is released, or if it could not be advanced. In that case it stays locked until its lease
   * expires.
   */
  mustRelease: boolean;
};

type AdvancedLock = { held: HeldLock; error?: LockNotAdvancedError };

type AttemptResult = SettledMessage | UnsettledAttempt;

/**
 * True for a delivery, for an alert in shadow mode, and for a duplicate of one: the worker that ended it may have crashed
 * before it advanced the lock.
 */
const advancesLock = (result: AttemptResult): boolean =>
  'outcome' in result ? result.advancesLock === true : result.attemptOutcome.result === 'delivered';

const isCircuitOpen = (result: AttemptResult): result is UnsettledAttempt =>
  !('outcome' in result) &&
  result.attemptOutcome.result !== 'delivered' &&
  result.attemptOutcome.reason === 'circuit_open';

/**
 * Creates the delivery of the events of one incident to one notification: one worker at a time, and never an event older
 * than one that was delivered. A late CRITICAL therefore cannot reopen an incident that its OK has resolved
 * (docs/decisions/deliveries.md#incident-order).
 */
export const createIncidentDelivery = (
  dependencies: SenderDependencies,
  {
    sendCopies,
    settledCopies,
    settledJob,
    settledOrReturned,
  }: Pick<Requeue, 'sendCopies' | 'settledCopies' | 'settledJob' | 'settledOrReturned'>,
  attempt: Attempt,
  settle: SettleAttempt,
) => {
  const { incidentLocks, clock } = dependencies;

  const newLockClaim = ({ body }: DeliveryJob): IncidentLock =>
    claimedLock(body.event, body.notification_id, randomUUID(), clock());

  /**
   * Sends copies of messages that wait for the lock: returning the messages to their queue would exhaust maxReceiveCount.
   * A copy goes to the queue of its original, because the retry queue has a longer batching window.
   */
  const sendToWait = (jobs: readonly DeliveryJob[]): Promise<ReadonlySet<DeliveryJob>> =>
    sendCopies(
      jobs,
      ({ message }) => queueUrlOf(message, dependencies),
      ({ message }) => ({
        waitMs: lockRetryDelayMs(lockWaitCount(message)),
        lockWaitCount: lockWaitCount(message) + 1,
      }),
    );

  /** Reschedules jobs if another worker holds the lock, no time is left, or the circuit is open. Counts no attempt. */
  const rescheduleAll = (
    jobs: readonly DeliveryJob[],
    unsent: Promise<ReadonlySet<DeliveryJob>> = sendToWait(jobs),
  ): Promise<SettledJob[]> => settledCopies(jobs, unsent, 'busy');

  /** Releases the claim of a delivery whose circuit is open, and reschedules it with the jobs after it. */
  const rescheduleForOpenCircuit = async (
    jobs: readonly DeliveryJob[],
    job: DeliveryJob,
    { record }: UnsettledAttempt,
  ): Promise<SettledJob[]> => {
    const next = withNextAttempt(record, clock() + lockRetryDelayMs(lockWaitCount(job.message)));
    return rescheduleAll(
      jobs,
      job.writes.update(record, next).then(() => sendToWait(jobs)),
    );
  };

  /**
   * Records in the lock that the event of a job was delivered, and releases the lock with the last job. Never rejects.
   */
  const advanceHeldLock = async ({ lock }: HeldLock, job: DeliveryJob, isLast: boolean): Promise<AdvancedLock> => {
    try {
      if (isLast) {
        await persist(job, () => incidentLocks.advanceAndRelease(lock, job.time, clock()));
        return { held: { lock, mustRelease: false } };
      }
      return { held: { lock: await persist(job, () => incidentLocks.advance(lock, job.time)), mustRelease: true } };
    } catch (error) {
      return { held: { lock, mustRelease: false }, error: new LockNotAdvancedError(error) };
    }
  };

  /** If the release fails, the lease expires. */
  const releaseHeldLock = async ({ lock, mustRelease }: HeldLock): Promise<void> => {
    if (!mustRelease) return;
    await incidentLocks
      .release(lock, clock())
      .catch((error: unknown) => logger.warn('incident lock not released', errorTrace(error)));
  };

  /** If the lock could not be advanced, returns the message after settling, so that it is received again. */
  const settleAfterAdvance = async (
    job: DeliveryJob,
    result: AttemptResult,
    lockError: LockNotAdvancedError | undefined,
  ): Promise<SettledMessage> => {
    const settled = 'outcome' in result ? result : await settle(job, result);
    if (!lockError) return settled;
    await settledOrReturned(job.message, Promise.reject(lockError), idsOf(job));
    return { ...settled, isReturned: true, isLockNotAdvanced: true };
  };

  /** Delivers the jobs one after the other while the lock is held, advancing it with each delivery, and releases it. */
  const deliverUnderLock = async (
    jobs: IncidentJobs,
    claimed: IncidentLock,
    target: Promise<DeliveryTarget | undefined>,
  ): Promise<SettledJob[]> => {
    const done: SettledJob[] = [];
    let held: HeldLock = { lock: claimed, mustRelease: true };
    for (const [index, job] of jobs.entries()) {
      const remaining = jobs.slice(index);
      if (job.timeLeft() < MIN_TIME_TO_SEND_MS) {
        done.push(...(await rescheduleAll(remaining)));
        break;
      }
      const newest = newestEventTime(held.lock);
      const newer = newest && isOlder(job.time, newest) ? newest : undefined;
      const result = await attempt(job, target, newer).catch((error: unknown) => ({ error }));
      if ('error' in result) {
        done.push(await settledJob(job, Promise.reject(result.error)));
        continue;
      }
      if (isCircuitOpen(result)) {
        done.push(...(await rescheduleForOpenCircuit(remaining, job, result)));
        break;
      }
      // The lock advances before the delivery is recorded: a crash in between must not let an older event follow.
      const advanced: AdvancedLock = advancesLock(result)
        ? await advanceHeldLock(held, job, remaining.length === 1)
        : { held };
      held = advanced.held;
      done.push(await settledJob(job, settleAfterAdvance(job, result, advanced.error)));
    }
    await releaseHeldLock(held);
    return done;
  };

  /** @param target the notification's target, or undefined if the notification was deleted */
  return async (jobs: IncidentJobs, target: Promise<DeliveryTarget | undefined>): Promise<SettledJob[]> => {
    const [first] = jobs;
    // Earlier messages of the batch have used up the time of the invocation.
    if (first.timeLeft() < MIN_TIME_TO_SEND_MS) return rescheduleAll(jobs);
    try {
      const claimed = await incidentLocks.claim(newLockClaim(first), clock());
      return claimed ? await deliverUnderLock(jobs, claimed, target) : await rescheduleAll(jobs);
    } catch (error) {
      return Promise.all(jobs.map((job) => settledJob(job, Promise.reject(error))));
    }
  };
};
