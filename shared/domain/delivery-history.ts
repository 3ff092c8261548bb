import type { ListedDelivery } from '../contracts/responses/deliveries.ts';
import type { DeliveryRecord } from './delivery-record.ts';
import { reasonOf } from './delivery-status.ts';

/**
 * As tenants see it (docs/decisions/api.md#delivery-history). @param withResponses whether attempts have the responses
 * of the destination
 */
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
