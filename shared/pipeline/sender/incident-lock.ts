import { randomUUID } from 'node:crypto';
import { errorTrace, logger } from '../../adapters/logger.ts';
import { type DelayedMessage, lockWait } from '../../adapters/queues.ts';
import { messageBody } from '../../contracts/message-body.ts';
import { withNextAttempt } from '../../domain/delivery-record.ts';
import { isOlder } from '../../domain/event-time.ts';
import { claimedLock, type IncidentLock, lockRetryDelayMs, newestEventTime } from '../../domain/incident.ts';
import type { DeliveryTarget } from '../../domain/notification.ts';
import { MIN_TIME_TO_SEND_MS } from '../../domain/transport.ts';
import { attemptDelivery, type UnsettledAttempt } from './delivery-attempt.ts';
import type { DeliveryJob, SettledJob, SettledMessage } from './delivery-job.ts';
import { newlyFailing } from './failure-report.ts';
import { persist } from './persist.ts';
import { queueUrlOf } from './read-message.ts';
import { settledJob } from './requeue.ts';
import { settleAttempt } from './settlement.ts';

/** The jobs of a batch that belong to one incident of one notification, oldest event first. */
export type IncidentJobs = readonly [DeliveryJob, ...DeliveryJob[]];

const newLockClaim = ({ dependencies, body }: DeliveryJob): IncidentLock =>
  claimedLock(body.event, body.notification_id, randomUUID(), dependencies.clock());

/**
 * Returns a copy of a message that waits for the lock. It is sent to the queue of the original, because the retry queue
 * has a longer batching window.
 */
const waitingMessage = (job: DeliveryJob, newest: DeliveryJob | undefined): DelayedMessage & { job: DeliveryJob } => {
  const { waitCount, isOlder: wasOlder } = lockWait(job.message);
  const isOlder = wasOlder || job !== newest;
  return {
    job,
    body: () => messageBody(job.message.body),
    bytes: Buffer.byteLength(job.message.body),
    messageGroupId: job.body.event.tenant_id,
    waitMs: lockRetryDelayMs(waitCount, isOlder),
    lockWait: { waitCount: waitCount + 1, isOlder },
  };
};

/**
 * Sends copies of messages that wait for the lock: returning the messages to their queue would exhaust maxReceiveCount.
 *
 * @param newest the job with the newest waiting event of the incident, which is retried more often than the others
 * @returns the jobs whose copies were not sent
 */
const sendWaitingMessages = async (
  jobs: readonly DeliveryJob[],
  newest: DeliveryJob | undefined,
): Promise<ReadonlySet<DeliveryJob>> => {
  const byQueueUrl = Map.groupBy(jobs, ({ message, dependencies }) => queueUrlOf(message, dependencies));
  const unsent = await Promise.all(
    [...byQueueUrl].flatMap(([url, [first, ...others]]) =>
      first
        ? first.dependencies.queues.sendAllDelayed(
            url,
            [first, ...others].map((job) => waitingMessage(job, newest)),
          )
        : [],
    ),
  );
  return new Set(unsent.flat().map(({ job }) => job));
};

/**
 * Sends copies of messages that wait for the lock and records the newest waiting event in the lock, so that all older
 * events of the incident are retried rarely. The jobs are sorted, oldest event first.
 *
 * @returns the jobs whose copies were not sent
 */
const sendToWait = async (jobs: readonly DeliveryJob[]): Promise<ReadonlySet<DeliveryJob>> => {
  const newest = jobs.at(-1);
  const isCandidate = newest && !lockWait(newest.message).isOlder;
  const isNewest =
    isCandidate && (await newest.dependencies.incidentLocks.recordWaiting(newLockClaim(newest), newest.time));
  return sendWaitingMessages(jobs, isNewest ? newest : undefined);
};

const waitingResult = async (job: DeliveryJob, unsent: Promise<ReadonlySet<DeliveryJob>>): Promise<SettledMessage> => {
  if ((await unsent).has(job)) throw new Error('The message could not be rescheduled.');
  return { outcome: 'busy' };
};

/**
 * Reschedules jobs if another worker holds the lock, no time is left, or the circuit is open. Counts no attempt.
 */
const rescheduleAll = (
  jobs: readonly DeliveryJob[],
  unsent: Promise<ReadonlySet<DeliveryJob>> = sendToWait(jobs),
): Promise<SettledJob[]> => Promise.all(jobs.map((job) => settledJob(job, waitingResult(job, unsent))));

/** Releases the claim of a delivery whose circuit is open, and reschedules it with the jobs after it. */
const rescheduleForOpenCircuit = async (
  jobs: readonly DeliveryJob[],
  job: DeliveryJob,
  { claimed, record }: UnsettledAttempt,
): Promise<SettledJob[]> => {
  const { deliveries, clock } = job.dependencies;
  const { waitCount, isOlder } = lockWait(job.message);
  const next = withNextAttempt(record, clock() + lockRetryDelayMs(waitCount, isOlder));
  const unsent = deliveries.update(record, next).then(() => sendToWait(jobs));
  const rescheduled = await rescheduleAll(jobs, unsent);
  const failing = newlyFailing(job, claimed, next);
  return rescheduled.map((result) => (result.job === job ? { job, settled: { ...result.settled, failing } } : result));
};

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

/**
 * Records in the lock that the event of a job was delivered, and releases the lock with the last job. Never rejects.
 */
const advanceHeldLock = async ({ lock }: HeldLock, job: DeliveryJob, isLast: boolean): Promise<AdvancedLock> => {
  const { incidentLocks, clock } = job.dependencies;
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
const releaseHeldLock = async ({ lock, mustRelease }: HeldLock, { dependencies }: DeliveryJob): Promise<void> => {
  const { incidentLocks, clock } = dependencies;
  if (!mustRelease) return;
  await incidentLocks
    .release(lock, clock())
    .catch((error: unknown) => logger.warn('incident lock not released', errorTrace(error)));
};

type AttemptResult = SettledMessage | UnsettledAttempt;

/**
 * True for a delivery, and for a duplicate of one: the worker that delivered it may have crashed before it advanced the
 * lock.
 */
const reachedDestination = (result: AttemptResult): boolean =>
  'outcome' in result ? result.wasDelivered === true : result.attemptOutcome.result === 'delivered';

const isCircuitOpen = (result: AttemptResult): result is UnsettledAttempt =>
  !('outcome' in result) &&
  result.attemptOutcome.result !== 'delivered' &&
  result.attemptOutcome.reason === 'circuit_open';

/** @throws LockNotAdvancedError after settling, so that the message is received again */
const settleAfterAdvance = async (
  job: DeliveryJob,
  result: AttemptResult,
  lockError: LockNotAdvancedError | undefined,
): Promise<SettledMessage> => {
  const settled = 'outcome' in result ? result : await settleAttempt(job, result);
  if (lockError) throw lockError;
  return settled;
};

/** Delivers the jobs one after the other while the lock is held, advancing it with each delivery, and releases it. */
const deliverUnderLock = async (
  jobs: IncidentJobs,
  claimed: IncidentLock,
  target: DeliveryTarget | undefined,
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
    const attempt = await attemptDelivery(job, target, newer).catch((error: unknown) => ({ error }));
    if ('error' in attempt) {
      done.push(await settledJob(job, Promise.reject(attempt.error)));
      continue;
    }
    if (isCircuitOpen(attempt)) {
      done.push(...(await rescheduleForOpenCircuit(remaining, job, attempt)));
      break;
    }
    // The lock advances before the delivery is recorded: a crash in between must not let an older event follow.
    const advanced: AdvancedLock = reachedDestination(attempt)
      ? await advanceHeldLock(held, job, remaining.length === 1)
      : { held };
    held = advanced.held;
    done.push(await settledJob(job, settleAfterAdvance(job, attempt, advanced.error)));
  }
  await releaseHeldLock(held, jobs[0]);
  return done;
};

/**
 * Delivers the events of one incident to one notification: one worker at a time, and never an event older than one that
 * was delivered. A late CRITICAL therefore cannot reopen an incident that its OK has resolved
 * (docs/decisions/deliveries.md#incident-order).
 *
 * @param target the notification's target, or undefined if the notification was deleted
 */
export const deliverInOrder = async (
  jobs: IncidentJobs,
  target: Promise<DeliveryTarget | undefined>,
): Promise<SettledJob[]> => {
  const [first] = jobs;
  const { incidentLocks, clock } = first.dependencies;
  // Earlier messages of the batch have used up the time of the invocation.
  if (first.timeLeft() < MIN_TIME_TO_SEND_MS) return rescheduleAll(jobs);
  try {
    const found = await target;
    const claimed = await incidentLocks.claim(newLockClaim(first), clock());
    return claimed ? await deliverUnderLock(jobs, claimed, found) : await rescheduleAll(jobs);
  } catch (error) {
    return Promise.all(jobs.map((job) => settledJob(job, Promise.reject(error))));
  }
};
