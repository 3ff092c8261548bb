import { MAX_NOTIFICATIONS, type PlannedEvent } from '../../domain/planned-event.ts';

/** The maximum size of all deliveries of a group, in bytes, unless it has only one event. */
const MAX_GROUP_BYTES = 4 * 1_024 * 1_024;

/** Returns the size of all deliveries of events, about, in bytes. */
export const deliveriesBytes = (events: readonly PlannedEvent[]): number =>
  events.reduce((sum, { ids, shared }) => sum + ids.length * shared.bytes, 0);

const fits = (events: readonly PlannedEvent[]): boolean =>
  deliveriesBytes(events) <= MAX_GROUP_BYTES &&
  events.reduce((sum, { ids }) => sum + ids.length, 0) <= MAX_NOTIFICATIONS;

/** Groups events that share reads and batches. Those with the smallest deliveries are first: a large plan delays no other. */
export const eventGroups = <Event extends PlannedEvent>(events: readonly Event[]): Event[][] => {
  const groups: Event[][] = [];
  for (const event of events.toSorted((one, other) => deliveriesBytes([one]) - deliveriesBytes([other]))) {
    const last = groups.at(-1);
    if (last && fits([...last, event])) last.push(event);
    else groups.push([event]);
  }
  return groups;
};
