import { MAX_TIME_MS, MIN_TIME_MS } from '../contracts/collection.ts';
import { asNumber } from '../contracts/json.ts';

export type EventTime = {
  /** When the alarm's state changed, by the clock of the producer; undefined if the event has no valid time. */
  producedAtMs: number | undefined;
  /** When SQS accepted the event (`SentTimestamp`). */
  acceptedAtMs: number;
};

/** Between the clocks of the producer and of SQS. */
const MAX_AHEAD_MS = 60_000;

/** The documented form of an event ID: the time comes before the state. Any 13 digits in this place are a time. */
const TIME_IN_ID = /:(\d{13}):[^:]*$|:(\d+):(?:OK|WARNING|CRITICAL)$/;

/** In its own unit (docs/api.md#webhook-payload). */
const timeInId = (eventId: string): number | undefined => {
  const [, thirteenDigits, digits = thirteenDigits] = TIME_IN_ID.exec(eventId) ?? [];
  return digits === undefined ? undefined : Number(digits);
};

/** Only if it is in ms since the epoch, with 13 digits. */
export const eventIdTimeMs = (eventId: string): number | undefined => {
  const time = timeInId(eventId);
  return time !== undefined && time >= MIN_TIME_MS && time <= MAX_TIME_MS ? time : undefined;
};

const brokenTimeRule = (value: unknown, acceptedAtMs: number): string | undefined => {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < MIN_TIME_MS) {
    return 'must be a time in epoch milliseconds: a whole number of at least 1000000000000';
  }
  return value - acceptedAtMs > MAX_AHEAD_MS ? 'must be at most 60 seconds after SQS accepted the event' : undefined;
};

/**
 * Of `details.timestamp` and the time in `event_id`, the first that is present and valid is the producer's
 * (docs/decisions/events.md#event-time). Warnings are broken rules, each with its field and without a value of the
 * event.
 */
export const readEventTime = (
  { details, event_id: eventId }: { details: Readonly<Record<string, unknown>>; event_id: string },
  acceptedAtMs: number,
): { time: EventTime; warnings: string[] } => {
  const present = [
    { field: 'details.timestamp', value: asNumber(details.timestamp) },
    { field: 'the time in event_id', value: timeInId(eventId) },
  ]
    .filter(({ value }) => value !== undefined)
    .map(({ field, value }) => ({ field, value, rule: brokenTimeRule(value, acceptedAtMs) }));
  const valid = present.find(({ rule }) => rule === undefined)?.value;
  return {
    time: { producedAtMs: typeof valid === 'number' ? valid : undefined, acceptedAtMs },
    warnings: present.flatMap(({ field, rule }) => (rule === undefined ? [] : [`${field} ${rule}`])),
  };
};

export const changedAtMs = ({ producedAtMs, acceptedAtMs }: EventTime): number => producedAtMs ?? acceptedAtMs;

/** By the producer's times or else when SQS accepted the events (docs/decisions/deliveries.md#incident-order). */
export const isOlder = (event: EventTime, other: EventTime): boolean => {
  const [produced, otherProduced] = [event.producedAtMs, other.producedAtMs];
  return produced === undefined || otherProduced === undefined || produced === otherProduced
    ? event.acceptedAtMs < other.acceptedAtMs
    : produced < otherProduced;
};

/** Older ones first. The order is not transitive (docs/decisions/deliveries.md#incident-order). */
export const compareEventTimes = (event: EventTime, other: EventTime): number =>
  Number(isOlder(other, event)) - Number(isOlder(event, other));

/** An older event usually arrives within this time. */
const MAX_LATE_MS = 60_000;

/** Older although SQS accepted it more than 60 s later: its producer has a slow clock or resends old events. */
export const isOlderByTimestamp = (event: EventTime, other: EventTime): boolean =>
  isOlder(event, other) && event.acceptedAtMs - other.acceptedAtMs > MAX_LATE_MS;
