import type { DeliveryStatus } from '../contracts/outcomes.ts';
import { parseDeliveryPartition } from './delivery-key.ts';
import { type DeliveryRecord, isFailing, reasonOf } from './delivery-record.ts';
import { isHeartbeat } from './heartbeat.ts';

/**
 * What became of an alert at one destination (docs/producers.md#delivery-outcomes): IDs, times and results, never a
 * destination. Times are ms since the epoch.
 */
export type DeliveryOutcome = {
  version: 1;
  tenant_id: string;
  notification_id: string;
  /** Null if the record is of version 3. */
  type: string | null;
  event_id: string;
  alarm_id: string;
  entity_id: string;
  state: DeliveryRecord['state'];
  /** A final status, or `failing`: the delivery is retried. */
  status: Exclude<DeliveryStatus, 'pending'> | 'failing';
  reason: string | null;
  /** The attempts of the current round. */
  attempts: number;
  accepted_at: number | null;
  first_attempt_at: number | null;
  /** Null while the delivery is retried. */
  ended_at: number | null;
  trace_id: string | null;
};

/** Returns the status to publish after a write of a record, or undefined if the write changed no outcome. */
const newStatus = (
  before: DeliveryRecord,
  after: DeliveryRecord,
  scale: number,
): DeliveryOutcome['status'] | undefined => {
  if (after.status !== 'pending') return after.status === before.status ? undefined : after.status;
  // A failure that was reported in this round was published, also if a failure of the service came between.
  const wasPublished = after.reported_status !== undefined && after.reported_cause !== 'service';
  const beginsToFail = isFailing(after, scale) && !wasPublished && !isFailing(before, scale);
  return beginsToFail ? 'failing' : undefined;
};

/**
 * Returns the outcome that a write of a delivery record has to publish: its end, or that it begins to fail. Notices,
 * summaries and heartbeats have none.
 *
 * @param before the record before the write
 * @param scale factor for the delays between attempts
 */
export const outcomeOf = (
  before: DeliveryRecord,
  after: DeliveryRecord,
  scale: number,
): DeliveryOutcome | undefined => {
  const { tenant, notificationId } = parseDeliveryPartition(after.pk);
  const status = newStatus(before, after, scale);
  if (status === undefined || after.notice !== undefined || isHeartbeat({ tenant_id: tenant })) return undefined;
  return {
    version: 1,
    tenant_id: tenant,
    notification_id: notificationId,
    type: after.type ?? null,
    event_id: after.event_id,
    alarm_id: after.alarm_id,
    entity_id: after.entity_id,
    state: after.state,
    status,
    reason: reasonOf(after) ?? null,
    attempts: after.attempt_count,
    accepted_at: after.accepted_at_ms ?? null,
    first_attempt_at: after.first_attempt_at_ms || null,
    ended_at: status === 'failing' ? null : after.updated_at_ms,
    trace_id: after.trace_id ?? null,
  };
};
