import type { DeliveryHappening, DeliveryOutcome } from '../contracts/delivery-report.ts';
import type { FailureReason } from '../contracts/outcomes.ts';
import { parseDeliveryPartition } from './delivery-key.ts';
import { type DeliveryRecord, isMuted, isShadow } from './delivery-record.ts';
import { failureReasonOf, isFailing, isUnreached, reasonOf } from './delivery-status.ts';
import { isHeartbeat } from './heartbeat.ts';
import { mayEndOutage } from './outage.ts';

export type Failure = {
  timeMs: number;
  reason: FailureReason;
  /** No earlier attempt of the round has failed. */
  isFirst: boolean;
};

/** What a write of a record means for others than its sender. */
export type DeliveryChange = {
  happened: DeliveryHappening | undefined;
  failure: Failure | undefined;
  outcome: DeliveryOutcome | undefined;
};

/** The status to publish, undefined if the write changed no outcome. */
const newStatus = (
  before: DeliveryRecord,
  after: DeliveryRecord,
  scale: number,
): DeliveryOutcome['status'] | undefined => {
  if (after.status !== 'pending') return after.status === before.status ? undefined : after.status;
  return isFailing(after, scale) && !isFailing(before, scale) ? 'failing' : undefined;
};

/** Notices and summaries have no outcome. */
export const outcomeOf = (
  after: DeliveryRecord,
  status: DeliveryOutcome['status'] | undefined,
): DeliveryOutcome | undefined => {
  const { tenant, id: notificationId } = parseDeliveryPartition(after.pk);
  if (status === undefined || status === 'pending' || after.notice !== undefined) return undefined;
  return {
    version: 1,
    tenant_id: tenant,
    notification_id: notificationId,
    type: after.type,
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

/** An alert that is cancelled while it is late was reported before. A muted one matters only to other destinations. */
const endOf = (before: DeliveryRecord, after: DeliveryRecord, scale: number): DeliveryHappening | undefined => {
  const { status, last_reason, siblings } = after;
  if (status === 'failed' || status === 'bounced') return status;
  if (status === 'summarized' && last_reason === 'tenant_limit_exceeded') return 'above_limit';
  if (mayEndOutage(after)) return 'recovered';
  const isReported = isShadow(after) || isUnreached(before, scale) || (isMuted(after) && siblings?.length === 0);
  return status === 'cancelled' && !isReported ? 'cancelled' : undefined;
};

const happenedIn = (before: DeliveryRecord, after: DeliveryRecord, scale: number): DeliveryHappening | undefined => {
  const end = after.status === before.status ? undefined : endOf(before, after, scale);
  if (end !== undefined) return end;
  const isReported =
    after.email_report !== before.email_report || after.email_reported_at_ms !== before.email_reported_at_ms;
  if (after.email_report !== undefined && isReported) return after.email_report;
  if (isShadow(after) || isMuted(after)) return undefined;
  // So is a delivery whose emails bounced before it ended.
  if (isUnreached(after, scale) && !isUnreached(before, scale)) return 'late';
  // A further attempt may be the first failure after the end of an outage.
  const isNew = !isFailing(before, scale) || before.last_failed_at_ms !== after.last_failed_at_ms;
  return isFailing(after, scale) && isNew ? 'failing' : undefined;
};

const failureIn = (before: DeliveryRecord, after: DeliveryRecord): Failure | undefined => {
  const reason = failureReasonOf(after);
  // If its dead letter cannot be stored, only the cause of an attempt is recorded later than the attempt.
  const isNew =
    after.updated_at_ms !== before.updated_at_ms ||
    after.status !== before.status ||
    after.last_cause !== before.last_cause;
  return reason && isNew
    ? { timeMs: after.updated_at_ms, reason, isFirst: before.last_cause === undefined }
    : undefined;
};

/** Notices and heartbeats mean nothing, and summaries have no outcome. */
export const changeOf = (before: DeliveryRecord, after: DeliveryRecord, scale: number): DeliveryChange | undefined => {
  const isNotice = after.notice !== undefined && after.notice !== 'summary';
  if (isNotice || isHeartbeat({ tenant_id: parseDeliveryPartition(after.pk).tenant })) return undefined;
  return {
    happened: happenedIn(before, after, scale),
    failure: failureIn(before, after),
    outcome: outcomeOf(after, newStatus(before, after, scale)),
  };
};
