import type { DeliveryReason, FailureReason } from '../contracts/outcomes.ts';
import type { ListedDelivery } from '../contracts/responses/deliveries.ts';
import { type DeliveryRecord, haveAllBounced, isLate, isShadow, mustBecomeBounced } from './delivery-record.ts';
import { HOUR_MS } from './time.ts';

/** How often a tenant can request the next attempt of a delivery. */
export const RETRY_REQUEST_INTERVAL_MS = HOUR_MS;

/** No worker has claimed it. */
export const isWaiting = ({ status, lease_until_ms, next_attempt_at_ms }: DeliveryRecord, nowMs: number): boolean =>
  status === 'pending' && lease_until_ms === 0 && next_attempt_at_ms > nowMs;

export const wasRetryRequested = ({ retry_requested_at_ms: requestedAtMs }: DeliveryRecord, nowMs: number): boolean =>
  requestedAtMs !== undefined && nowMs - requestedAtMs < RETRY_REQUEST_INTERVAL_MS;

/** Of the last failure in this round, if the delivery has not arrived. */
export const failureReasonOf = ({
  status,
  last_cause,
  last_reason,
  attempts,
}: DeliveryRecord): FailureReason | undefined => {
  if (status === 'failed' || (status === 'pending' && last_cause)) return last_reason ?? attempts.at(-1)?.reason;
  return status === 'bounced' ? last_reason : undefined;
};

export const reasonOf = (record: DeliveryRecord): DeliveryReason | undefined => {
  if (record.status === 'cancelled') return record.withheld ?? record.last_reason;
  return record.newer_event_at_ms === undefined ? failureReasonOf(record) : 'older_timestamp';
};

/** The destination fails, and no attempt ends within five minutes of the round's start. */
export const isFailing = (record: DeliveryRecord, scale: number): boolean =>
  record.last_cause === 'destination' && isLate(record, scale);

/** When it failed or became late: further attempts do not change that. */
export const failedAtMs = ({ status, late_at_ms, updated_at_ms }: DeliveryRecord): number =>
  status === 'pending' || status === 'cancelled' ? (late_at_ms ?? updated_at_ms) : updated_at_ms;

/** By the attempts and what SES last reported. */
export const unreachedAtMs = (record: DeliveryRecord): number =>
  Math.max(failedAtMs(record), record.email_reported_at_ms ?? 0);

export const isCausedByService = (failures: readonly DeliveryRecord[]): boolean =>
  failures.length > 0 && failures.every(({ status, last_cause }) => status !== 'bounced' && last_cause === 'service');

/** Not all emails to those that it has reached have bounced. */
export const hasReachedRecipient = (record: DeliveryRecord): boolean =>
  (record.reached_recipient_hashes?.length ?? 0) > 0 && !haveAllBounced(record);

/**
 * The alert has not reached the destination and is not about to. One of several recipients is enough, unless the emails
 * to all that it reached bounced; so is shadow mode. A summarized alert may still arrive; its summary is a delivery of
 * its own.
 */
export const isUnreached = (record: DeliveryRecord, scale: number): boolean => {
  if (record.status === 'bounced' || mustBecomeBounced(record)) return true;
  if (hasReachedRecipient(record) || record.status === 'summarized') return false;
  const isCancelled = record.status === 'cancelled' && !isShadow(record);
  return record.status === 'failed' || isCancelled || isLate(record, scale);
};

/** As tenants see it (docs/decisions/api.md#delivery-history). */
export const listedDelivery = (record: DeliveryRecord, withResponses: boolean): ListedDelivery => ({
  event_id: record.event_id,
  entity_id: record.entity_id,
  alarm_id: record.alarm_id,
  entity_label: record.entity_label ?? record.entity_id,
  alarm_label: record.alarm_label ?? record.alarm_id,
  state: record.state,
  status: record.status,
  reason: reasonOf(record) ?? null,
  event_timestamp: record.event_at_ms,
  newer_event_timestamp: record.newer_event_at_ms,
  trace_id: record.trace_id,
  summary_id: record.summary_id,
  attempts: record.attempts.map(
    ({ timestamp_ms, result, status = null, reason = null, response_text, duration_ms }) => ({
      timestamp: timestamp_ms,
      result,
      status_code: status,
      reason,
      response_text: withResponses ? response_text : undefined,
      duration_ms,
    }),
  ),
  accepted_at: record.accepted_at_ms,
  confirmed_at: record.confirmed_at_ms,
  delayed_at: record.delayed_at_ms,
  next_attempt_at: record.status === 'pending' ? record.next_attempt_at_ms : null,
  created_at: record.created_at_ms,
  updated_at: record.updated_at_ms,
});

/** DynamoDB deletes expired items within a few days, not at once. */
export const isExpired = ({ ttl }: { ttl: number }, nowMs: number): boolean => ttl * 1000 <= nowMs;
