import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';
import type { MeasuredUnits, UnitsByBatch } from './measured-units.ts';
import { sum, type Units } from './units.ts';

/** What alarm events cause. */
export type Load = {
  /** The average number of destinations of an event. */
  destinations: number;
  /** The average number of messages in a batch, from 1 to 10. */
  batch: number;
  /** The share of each type in the destinations. The shares add up to 1. */
  shares: ReadonlyMap<NotificationTypeId, number>;
};

/** The producer sends each event alone. Its group is the tenant (docs/producers.md#send-in-batches). */
const PRODUCER: Partial<Units> = { sqsRequests: 1, sqsFairMessages: 1 };

/** A batch costs the same whatever its size, and each of its messages too, so 1 / `batch` is interpolated. */
const inBatches = ({ batchOf1, batchOf10 }: UnitsByBatch, batch: number): Units => {
  const weight = (1 / batch - 1 / 10) / (1 - 1 / 10);
  return sum([batchOf1, weight], [batchOf10, 1 - weight]);
};

/**
 * Returns the units that an alarm event uses on average, without failed attempts. Each destination after the first
 * costs as much as the second.
 *
 * @throws Error if a type has not been measured
 */
export const usagePerEvent = ({ dispatch, senders }: MeasuredUnits, { destinations, batch, shares }: Load): Units => {
  const deliveries = [...shares].map(([type, share]): readonly [Units, number] => {
    const measured = senders[type];
    if (!measured) throw new Error(`The type ${type} has not been measured: run "npm run bench cost".`);
    return [inBatches(measured, batch), share * destinations];
  });
  return sum(
    [PRODUCER, 1],
    [inBatches(dispatch.oneDestination, batch), 2 - destinations],
    [inBatches(dispatch.twoDestinations, batch), destinations - 1],
    ...deliveries,
  );
};
