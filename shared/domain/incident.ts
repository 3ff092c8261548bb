import { createHash } from 'node:crypto';
import type { AlarmEvent } from '../contracts/alarm-event.ts';
import { asNumber } from '../contracts/json.ts';
import { type DeliveryKey, deliveryKey, eventIdTime } from './delivery-key.ts';
import { LEASE_MS, RETENTION_SECONDS } from './delivery-record.ts';

/**
 * The name of the incident that an alarm may open: one for each tenant, entity and alarm, and the same from the trigger to
 * the resolve. A hash, since ids of any length and with any separator are in it (at most 255 characters, Events API v1).
 */
export const incidentKey = ({ tenant_id: tenant, entity, alarm }: AlarmEvent): string =>
  createHash('sha256')
    .update(JSON.stringify([tenant, entity.id, alarm.id]))
    .digest('hex');

const timestamp = (value: unknown): number | undefined => (typeof value === 'number' && value >= 0 ? value : undefined);

/**
 * When the alarm's state changed, ms since the epoch: the event's own timestamp, or the one inside its id, but never later
 * than SQS accepted the event. So a producer whose clock is fast, or which counts nanoseconds, cannot make later events of
 * the alarm look old.
 *
 * @param sentAt when SQS accepted the event (`SentTimestamp`), ms since the epoch
 */
export const eventTime = ({ details, event_id: eventId }: AlarmEvent, sentAt: number): number =>
  Math.min(timestamp(asNumber(details.timestamp)) ?? eventIdTime(eventId) ?? sentAt, sentAt);

/**
 * Who may send to a notification about an incident, and how new the newest event is that was delivered there (an item of
 * table Deliveries, beside the records of the same notification).
 */
export type IncidentLock = DeliveryKey & {
  /** Time of the newest event that was delivered, ms; 0 before the first. It only increases. */
  newest_event_at_ms: number;
  /** Until when the holder may send, ms; 0 when nobody holds the lock. */
  lease_until_ms: number;
  /** Names the claim of the lock. */
  claim_id: string;
  /** When DynamoDB deletes it, epoch seconds. */
  ttl: number;
};

/** The lock as a first claim writes it. */
export const claimedLock = (event: AlarmEvent, notificationId: string, owner: string, now: number): IncidentLock => ({
  pk: deliveryKey(event, notificationId).pk,
  sk: `incident#${incidentKey(event)}`,
  newest_event_at_ms: 0,
  lease_until_ms: now + LEASE_MS,
  claim_id: owner,
  ttl: Math.floor(now / 1000) + RETENTION_SECONDS,
});

/** The waits of the newest event for its incident's lock, in ms; the last one repeats. It should not wait out a whole lease. */
const NEWEST_WAITS = [2_000, 4_000, 8_000, 16_000, 35_000] as const;
/** The waits of older events, in ms; the last one repeats. They are superseded as soon as the newest is delivered. */
const OLDER_WAITS = [2_000, 8_000, 32_000, 128_000, 512_000, 900_000] as const;

/**
 * How long a message waits before it asks for the lock of its incident again, in ms. However many wait, and however long the
 * destination does not answer, only the newest asks often.
 *
 * @param asked how many times it has asked in vain before
 * @param isOlder true where a newer event of the incident waits as well
 */
export const lockRetryDelayMs = (asked: number, isOlder: boolean): number => {
  const waits: readonly number[] = isOlder ? OLDER_WAITS : NEWEST_WAITS;
  return waits[Math.min(asked, waits.length - 1)] ?? 0;
};
