import type { AlarmEvent } from '../contracts/alarm-event.ts';
import type { EventHeader } from '../contracts/event-header.ts';
import { type DeliveryKey, deliveryKey, sha256 } from './delivery-key.ts';
import { RETENTION_SECONDS } from './delivery-record.ts';
import { type EventTime, isOlder } from './event-time.ts';
import { MINUTE_MS } from './time.ts';
import { LEASE_MS } from './timeouts.ts';

/** A hash, because PagerDuty Events API v1 limits keys to 255 characters. */
export const incidentKey = ({
  tenant_id: tenant,
  entity,
  alarm,
}: Pick<AlarmEvent, 'tenant_id'> & Readonly<Record<'entity' | 'alarm', { id: string }>>): string =>
  sha256(tenant, entity.id, alarm.id);

/** The event that holds a lock, or did when its worker crashed. Times are ms since the epoch. */
export type LockingEvent = {
  event_at_ms?: number | undefined;
  accepted_at_ms: number;
  /** When the event was claimed; the first time, if its worker crashes repeatedly. */
  since_ms: number;
};

/**
 * Serializes deliveries about one incident to one notification (docs/decisions/deliveries.md#incident-order). Stored in
 * table Deliveries, in the partition of the notification. Times except `ttl` are ms since the epoch.
 */
export type IncidentLock = DeliveryKey & {
  /** The producer's time of the newest delivered event. */
  newest_event_at_ms?: number | undefined;
  /** When SQS accepted it; absent if there was none. */
  newest_accepted_at_ms?: number | undefined;
  /** How often a newer event was delivered. Each write of its times is conditional on it. */
  advance_count: number;
  /** 0 if the lock is free. */
  lease_until_ms: number;
  /** That of the current or last claim. */
  claim_id: string;
  /** Absent after a release, unless it is unknown whether a worker that crashed has delivered this event. */
  locking_event?: LockingEvent | undefined;
  /** Epoch seconds. */
  ttl: number;
};

export type IncidentClaim = IncidentLock & { locking_event: LockingEvent };

export const claimedLock = (
  event: EventHeader,
  notificationId: string,
  claimId: string,
  nowMs: number,
  { producedAtMs, acceptedAtMs }: EventTime,
): IncidentClaim => ({
  pk: deliveryKey(event, notificationId).pk,
  sk: `incident#${event.incident_key}`,
  advance_count: 0,
  lease_until_ms: nowMs + LEASE_MS,
  claim_id: claimId,
  locking_event: { event_at_ms: producedAtMs, accepted_at_ms: acceptedAtMs, since_ms: nowMs },
  ttl: Math.floor(nowMs / 1000) + RETENTION_SECONDS,
});

/** Undefined if no event was delivered. */
export const newestEventTime = ({
  newest_event_at_ms: producedAtMs,
  newest_accepted_at_ms: acceptedAtMs,
}: Pick<IncidentLock, 'newest_event_at_ms' | 'newest_accepted_at_ms'>): EventTime | undefined =>
  acceptedAtMs === undefined ? undefined : { producedAtMs, acceptedAtMs };

/** Longer than the visibility timeout, after which the message of the crashed worker is received again. */
const MAX_WAIT_FOR_NEWER_MS = 5 * MINUTE_MS;

const timeOf = ({ event_at_ms: producedAtMs, accepted_at_ms: acceptedAtMs }: LockingEvent): EventTime => ({
  producedAtMs,
  acceptedAtMs,
});

export const isSameEvent = (one: LockingEvent, other: LockingEvent): boolean =>
  one.event_at_ms === other.event_at_ms && one.accepted_at_ms === other.accepted_at_ms;

/** The worker of the event crashed, and may have delivered it. */
export const isAwaited = ({ since_ms }: LockingEvent, nowMs: number): boolean =>
  nowMs < since_ms + MAX_WAIT_FOR_NEWER_MS;

export const isOlderThan = (event: LockingEvent, other: LockingEvent): boolean => isOlder(timeOf(event), timeOf(other));

/** Short, because most sends end long before the lease. */
const FIRST_RETRY_DELAY_MS = 2_000;

/** Twice the delay before, up to the lease. @param failedClaims before this one */
export const lockRetryDelayMs = (failedClaims: number): number =>
  Math.min(FIRST_RETRY_DELAY_MS * 2 ** failedClaims, LEASE_MS);
