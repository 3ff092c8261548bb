import { createHash } from 'node:crypto';
import type { AlarmEvent } from '../contracts/alarm-event.ts';
import type { EventHeader } from '../contracts/event-header.ts';
import { type DeliveryKey, deliveryKey } from './delivery-key.ts';
import { LEASE_MS, RETENTION_SECONDS } from './delivery-record.ts';
import { type EventTime, isOlder } from './event-time.ts';

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
  /** The producer's time of the event that holds the lock, ms since the epoch; absent if it has none, and after a release. */
  claimed_event_at_ms?: number | undefined;
  /** When SQS accepted the event that holds the lock, ms since the epoch; absent after a release. */
  claimed_accepted_at_ms?: number | undefined;
  /** When DynamoDB deletes the lock, epoch seconds. */
  ttl: number;
};

/** Returns the initial lock, claimed by `claimId` for an event with these times. */
export const claimedLock = (
  event: EventHeader,
  notificationId: string,
  claimId: string,
  nowMs: number,
  time: EventTime,
): IncidentLock => ({
  pk: deliveryKey(event, notificationId).pk,
  sk: `incident#${event.incident_key}`,
  advance_count: 0,
  lease_until_ms: nowMs + LEASE_MS,
  claim_id: claimId,
  claimed_event_at_ms: time.producedAtMs,
  claimed_accepted_at_ms: time.acceptedAtMs,
  ttl: Math.floor(nowMs / 1000) + RETENTION_SECONDS,
});

/** Returns the times of the newest delivered event, or undefined if there was none. */
export const newestEventTime = ({
  newest_event_at_ms: producedAtMs,
  newest_accepted_at_ms: acceptedAtMs,
}: Pick<IncidentLock, 'newest_event_at_ms' | 'newest_accepted_at_ms'>): EventTime | undefined =>
  acceptedAtMs === undefined ? undefined : { producedAtMs, acceptedAtMs };

/** The times of the event that holds a lock, or whose worker crashed while it did. */
type LockClaim = Pick<IncidentLock, 'lease_until_ms' | 'claimed_event_at_ms' | 'claimed_accepted_at_ms'>;

/**
 * How long an older event waits, from the claim of a newer one whose worker did not release the lock: longer than the
 * visibility timeout, after which the newer event's message is received again.
 */
const MAX_WAIT_FOR_NEWER_MS = 5 * 60_000;

/**
 * Returns whether an event must wait although the lease of the lock has ended: the worker of a newer event, which may
 * have been delivered, did not release the lock.
 */
export const mustWaitForNewer = (time: EventTime, claim: LockClaim, nowMs: number): boolean => {
  const { claimed_event_at_ms: producedAtMs, claimed_accepted_at_ms: acceptedAtMs, lease_until_ms } = claim;
  return (
    acceptedAtMs !== undefined &&
    isOlder(time, { producedAtMs, acceptedAtMs }) &&
    nowMs < lease_until_ms - LEASE_MS + MAX_WAIT_FOR_NEWER_MS
  );
};

/** Short, because most sends end long before the lease. */
const FIRST_RETRY_DELAY_MS = 2_000;

/**
 * Returns the delay in ms before a message retries to claim its incident lock: twice the one before, up to the lease.
 *
 * @param failedClaims number of failed claims before this one
 */
export const lockRetryDelayMs = (failedClaims: number): number =>
  Math.min(FIRST_RETRY_DELAY_MS * 2 ** failedClaims, LEASE_MS);
