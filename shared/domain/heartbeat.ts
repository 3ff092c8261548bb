import { type AlarmEvent, HEARTBEAT_TENANT } from '../contracts/alarm-event.ts';
import type { DeliveryTarget } from './notification.ts';

/**
 * The only destination of heartbeats, whose URL only its sender knows. It is neither stored nor listed. Its ID is one
 * that a stored notification can have, so that dispatch and sender look it up in the table.
 */
const heartbeatNotification: DeliveryTarget = { id: 'nt00000000000000000HEARTBEAT', type: 'webhook', details: {} };

/** Returns whether an event is a heartbeat. Heartbeats emit no metrics, and are neither repeated nor reported. */
export const isHeartbeat = ({ tenant_id: tenant }: Pick<AlarmEvent, 'tenant_id'>): boolean =>
  tenant === HEARTBEAT_TENANT;

/** Returns the target of a notification that is not stored: that of heartbeats, undefined for other tenants. */
export const unstoredTarget = (tenant: string): DeliveryTarget | undefined =>
  tenant === HEARTBEAT_TENANT ? heartbeatNotification : undefined;

/** Heartbeats that are older are not sent, so that a backlog does not look like a working service. */
const MAX_HEARTBEAT_AGE_MS = 300_000;

/** Returns whether a heartbeat is too old to be sent. @param acceptedAtMs when SQS accepted it, ms since the epoch */
export const isLateHeartbeat = (acceptedAtMs: number, nowMs: number): boolean =>
  nowMs - acceptedAtMs > MAX_HEARTBEAT_AGE_MS;

/**
 * Returns a heartbeat as an alarm event.
 *
 * @param id unique for each heartbeat
 * @param scheduledTime when the heartbeat is due, for the receiver
 */
export const heartbeatEvent = (id: string, scheduledTime: string): AlarmEvent => ({
  event_id: `heartbeat:${id}`,
  tenant_id: HEARTBEAT_TENANT,
  details: { state: 'OK', scheduled_time: scheduledTime },
  entity: { id: 'heartbeat' },
  alarm: { id: 'heartbeat' },
  notification_plan: { ok_state: [heartbeatNotification.id] },
});
