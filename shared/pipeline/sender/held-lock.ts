import { randomUUID } from 'node:crypto';
import { errorTrace, logger } from '../../adapters/logger.ts';
import { type EventTime, isOlder } from '../../domain/event-time.ts';
import { claimedLock, newestEventTime } from '../../domain/incident.ts';
import { type DeliveryJob, persist, type SenderDependencies } from './delivery-job.ts';

/**
 * One worker at a time delivers events of an incident to a notification, none older than a delivered one, so that no
 * late CRITICAL reopens an incident (docs/decisions/deliveries.md#incident-order).
 */
export type HeldLock = {
  /** The times of the newest delivered event, if it is newer than the one of the job. */
  newer: EventTime | undefined;
  /** Why the lock does not record the delivery. Its message must be received again before an older one. */
  error: unknown;
  /** Records in the lock that the event was delivered, and releases it. Never rejects. */
  advance: () => Promise<void>;
  /** Unless it was advanced. `isDecided`: false if a worker that crashed may have delivered the event. */
  release: (isDecided: boolean) => Promise<void>;
};

export const claimLock = async (
  { incidentLocks, clock }: Pick<SenderDependencies, 'incidentLocks' | 'clock'>,
  job: DeliveryJob,
): Promise<HeldLock | undefined> => {
  const { event, notification_id: id } = job.body;
  const lock = await incidentLocks.claim(claimedLock(event, id, randomUUID(), clock(), job.time), clock());
  if (!lock) return undefined;
  const newest = newestEventTime(lock);
  let isAdvanced = false;
  const held: HeldLock = {
    newer: newest && isOlder(job.time, newest) ? newest : undefined,
    error: undefined,
    async advance() {
      isAdvanced = true;
      try {
        await persist(job, () => incidentLocks.advanceAndRelease(lock, job.time, clock()));
      } catch (error) {
        held.error = error;
      }
    },
    async release(isDecided) {
      if (isAdvanced) return;
      await incidentLocks
        .release(lock, clock(), isDecided)
        .catch((error: unknown) => logger.warn('incident lock not released', errorTrace(error)));
    },
  };
  return held;
};
