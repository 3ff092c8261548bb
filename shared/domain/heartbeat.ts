import { type AlarmEvent, HEARTBEAT_TENANT } from '../contracts/alarm-event.ts';
import type { DeliveryTarget } from './notification.ts';
import { MINUTE_MS } from './time.ts';

/** Only its sender knows the URL. A stored notification can have its ID, so dispatch and sender look it up. */
const heartbeatNotification: DeliveryTarget = { id: 'nt00000000000000000HEARTBEAT', type: 'webhook', details: {} };

/** Heartbeats emit no metrics, and are neither repeated nor reported. */
export const isHeartbeat = ({ tenant_id: tenant }: Pick<AlarmEvent, 'tenant_id'>): boolean =>
  tenant === HEARTBEAT_TENANT;

/** Of a notification that is not stored. */
export const unstoredTarget = (tenant: string): DeliveryTarget | undefined =>
  tenant === HEARTBEAT_TENANT ? heartbeatNotification : undefined;

/** So that a backlog does not look like a working service. */
const MAX_HEARTBEAT_AGE_MS = 5 * MINUTE_MS;

export const isLateHeartbeat = (acceptedAtMs: number, nowMs: number): boolean =>
  nowMs - acceptedAtMs > MAX_HEARTBEAT_AGE_MS;

/** @param id unique for each heartbeat */
export const heartbeatEvent = (id: string, scheduledTime: string): AlarmEvent => ({
  event_id: `heartbeat:${id}`,
  tenant_id: HEARTBEAT_TENANT,
  details: { state: 'OK', scheduled_time: scheduledTime },
  entity: { id: 'heartbeat' },
  alarm: { id: 'heartbeat' },
  notification_plan: { ok_state: [heartbeatNotification.id] },
});
