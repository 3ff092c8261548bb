import { randomUUID } from 'node:crypto';
import type { ClaimedLock, IncidentLocks } from '../../adapters/deliveries/incident-locks.ts';
import { errorTrace, logger } from '../../adapters/logger.ts';
import type { Clock } from '../../domain/clock.ts';
import { type EventTime, isOlder } from '../../domain/event-time.ts';
import { claimedLock, newestEventTime } from '../../domain/incident.ts';
import { type DeliveryJob, persist } from './delivery-job.ts';

/**
 * The incident lock that this worker has claimed. One worker at a time delivers events of an incident to a
 * notification. An event that is older than a delivered one is not sent, so that no late CRITICAL reopens an incident
 * that its OK has resolved (docs/decisions/deliveries.md#incident-order).
 */
export class HeldLock {
  /** The times of the newest delivered event, if it is newer than the one of the job. */
  readonly newer: EventTime | undefined;
  /**
   * Why the lock does not record that the event was delivered. It then stays locked until its lease expires, and the
   * message must be received again before an older event is sent.
   */
  error: unknown;
  readonly #locks: IncidentLocks;
  readonly #lock: ClaimedLock;
  readonly #job: DeliveryJob;
  readonly #clock: Clock;
  #isReleased = false;

  private constructor(locks: IncidentLocks, lock: ClaimedLock, job: DeliveryJob, clock: Clock) {
    this.#locks = locks;
    this.#lock = lock;
    this.#job = job;
    this.#clock = clock;
    const newest = newestEventTime(lock);
    this.newer = newest && isOlder(job.time, newest) ? newest : undefined;
  }

  /** Claims the lock of a job's incident. @returns undefined if another worker holds it */
  static async claim(locks: IncidentLocks, job: DeliveryJob, clock: Clock): Promise<HeldLock | undefined> {
    const { event, notification_id: id } = job.body;
    const claimed = await locks.claim(claimedLock(event, id, randomUUID(), clock(), job.time), clock());
    return claimed && new HeldLock(locks, claimed, job, clock);
  }

  /** Records in the lock that the event was delivered, and releases it. Never rejects. */
  async advance(): Promise<void> {
    this.#isReleased = true;
    try {
      await persist(this.#job, () => this.#locks.advanceAndRelease(this.#lock, this.#job.time, this.#clock()));
    } catch (error) {
      this.error = error;
    }
  }

  /**
   * Releases the lock if it was not advanced. If that fails, the lease expires. Never rejects.
   *
   * @param isDecided false if it is still unknown whether a worker that crashed has delivered the event
   */
  async release(isDecided: boolean): Promise<void> {
    if (this.#isReleased) return;
    await this.#locks
      .release(this.#lock, this.#clock(), isDecided)
      .catch((error: unknown) => logger.warn('incident lock not released', errorTrace(error)));
  }
}
