import { createHash } from 'node:crypto';
import type { AlarmEvent } from '../contracts/alarm-event.ts';
import { asNumber } from '../contracts/json.ts';
import { type DeliveryKey, deliveryKey, eventIdTime } from './delivery-key.ts';
import { KEEP_SECONDS, LEASE } from './delivery-record.ts';

/**
 * The name of the incident that an alarm may open: one for each tenant, entity and alarm, and the same from the trigger to
 * the resolve. A hash, since ids of any length and with any separator are in it (at most 255 characters, Events API v1).
 */
export const incidentKey = ({ tenant_id: tenant, entity, alarm }: AlarmEvent): string =>
  createHash('sha256')
    .update(JSON.stringify([tenant, entity.id, alarm.id]))
    .digest('hex');

/** How far ahead of ours a producer's clock may be, in ms. */
const CLOCK_SKEW = 86_400_000;

/**
 * Nanoseconds, or a clock that is years ahead, must not count: such a time would make every later event of the alarm look
 * old, and silence it.
 */
const plausible = (time: unknown, now: number): number | undefined =>
  typeof time === 'number' && time >= 0 && time <= now + CLOCK_SKEW ? time : undefined;

/** When the alarm's state changed, ms since the epoch; undefined where the event does not say (design 3, Incidents in order). */
export const eventTime = ({ details, event_id: eventId }: AlarmEvent, now: number = Date.now()): number | undefined =>
  plausible(asNumber(details.timestamp), now) ?? plausible(eventIdTime(eventId), now);

/**
 * Who may send about an incident to a notification, and how new the newest event is that has arrived there (an item of table
 * Deliveries, beside the records of the same notification).
 */
export type IncidentTurn = DeliveryKey & {
  /** Time of the newest event that was delivered, ms; 0 before the first. */
  newest: number;
  /** Until when the one whose turn it is may send, ms; 0 where it is nobody's. */
  lease: number;
  owner: string;
  /** When DynamoDB deletes it, epoch seconds. */
  expires: number;
};

/** The turn as a first claim writes it. */
export const claimedTurn = (event: AlarmEvent, notificationId: string, owner: string, now: number): IncidentTurn => ({
  pk: deliveryKey(event, notificationId).pk,
  sk: `incident#${incidentKey(event)}`,
  newest: 0,
  lease: now + LEASE,
  owner,
  expires: Math.floor(now / 1000) + KEEP_SECONDS,
});

/** True where a newer event has arrived already: the older one would open again what is closed, or close what is open. */
export const isSuperseded = (event: AlarmEvent, { newest }: IncidentTurn): boolean => {
  const time = eventTime(event);
  return time !== undefined && time < newest;
};

/** The turn once an event has arrived. */
export const advanced = (turn: IncidentTurn, event: AlarmEvent): IncidentTurn => ({
  ...turn,
  newest: Math.max(turn.newest, eventTime(event) ?? 0),
});

/** Oldest first; an event that does not say when it was stays where it is. */
export const byTime = (one: AlarmEvent, other: AlarmEvent): number => (eventTime(one) ?? 0) - (eventTime(other) ?? 0);
