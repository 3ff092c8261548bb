import { createHash } from 'node:crypto';
import type { AlarmEvent } from '../contracts/alarm-event.ts';
import type { EventHeader } from '../contracts/event-header.ts';
import { type DeliveryKey, deliveryKey } from './delivery-key.ts';
import { LEASE_MS, RETENTION_SECONDS } from './delivery-record.ts';
import type { EventTime } from './event-time.ts';

/**
 * Returns the key of an alarm's incident, the same from trigger to resolve. It is a hash, because IDs can have any
 * length and characters, while PagerDuty Events API v1 limits keys to 255 characters.
 */
export const incidentKey = ({
  tenant_id: tenant,
  entity,
  alarm,
}: Pick<AlarmEvent, 'tenant_id'> & Readonly<Record<'entity' | 'alarm', { id: string }>>): string =>
  createHash('sha256')
    .update(JSON.stringify([tenant, entity.id, alarm.id]))
    .digest('hex');

/**
 * The lock that serializes deliveries about one incident to one notification, and the times of the newest delivered
 * event (docs/decisions/deliveries.md#incident-order). It is stored in table Deliveries, in the partition of the
 * notification.
 */
export type IncidentLock = DeliveryKey & {
  /** The producer's time of the newest delivered event, ms since the epoch; absent if it has none. */
  newest_event_at_ms?: number | undefined;
  /** When SQS accepted the newest delivered event, ms since the epoch; absent if there was none. */
  newest_accepted_at_ms?: number | undefined;
  /** How often a newer event was delivered. Each write of its times is conditional on it. */
  advance_count: number;
  /** End of the current lease, ms since the epoch; 0 if the lock is free. */
  lease_until_ms: number;
  /** Identifies the current or last claim. */
  claim_id: string;
  /** When DynamoDB deletes the lock, epoch seconds. */
  ttl: number;
};

/** Returns the initial lock, claimed by `claimId`. */
export const claimedLock = (
  event: EventHeader,
  notificationId: string,
  claimId: string,
  nowMs: number,
): IncidentLock => ({
  pk: deliveryKey(event, notificationId).pk,
  sk: `incident#${event.incident_key}`,
  advance_count: 0,
  lease_until_ms: nowMs + LEASE_MS,
  claim_id: claimId,
  ttl: Math.floor(nowMs / 1000) + RETENTION_SECONDS,
});

/** Returns the times of the newest delivered event, or undefined if there was none. */
export const newestEventTime = ({
  newest_event_at_ms: producedAtMs,
  newest_accepted_at_ms: acceptedAtMs,
}: Pick<IncidentLock, 'newest_event_at_ms' | 'newest_accepted_at_ms'>): EventTime | undefined =>
  acceptedAtMs === undefined ? undefined : { producedAtMs, acceptedAtMs };

/**
 * Delays of the newest event of an incident. The first ones are short, because most sends end long before the lease.
 */
const NEWEST_EVENT_DELAYS_MS = [2_000, 4_000, 8_000, 16_000, 35_000] as const;
/** Delays of older events, which are superseded once the newest is delivered. */
const OLDER_EVENT_DELAYS_MS = [2_000, 8_000, 32_000, 128_000, 512_000, 900_000] as const;

/**
 * Returns the delay in ms before a message retries to claim its incident lock. The last delay repeats. Only the newest
 * waiting event retries often, so that a slow destination does not cause many claims.
 *
 * @param failedClaims number of failed claims before this one
 * @param isOlder whether a newer event of the incident is waiting
 */
export const lockRetryDelayMs = (failedClaims: number, isOlder: boolean): number => {
  const delaysMs: readonly number[] = isOlder ? OLDER_EVENT_DELAYS_MS : NEWEST_EVENT_DELAYS_MS;
  return delaysMs[Math.min(failedClaims, delaysMs.length - 1)] ?? 0;
};
