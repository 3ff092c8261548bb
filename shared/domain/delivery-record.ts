import type { Attempt, DeliveryRecord } from '../contracts/delivery-record.ts';
import { type Correlation, type Envelope, roundOf } from '../contracts/messages.ts';
import { type NotificationTypeId, notificationTypes } from '../contracts/notification-types.ts';
import type { DeliveryStatus, FailureCause, FailureReason } from '../contracts/outcomes.ts';
import { truncate, truncateBytes } from './alert-text.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';
import { deliveryKey } from './delivery-key.ts';
import { type EventTime, isOlderByTimestamp } from './event-time.ts';
import { MAX_AGE_MS, MAX_ATTEMPTS, MAX_WAIT_FOR_ATTEMPT_MS } from './retry-schedule.ts';
import { DAY_SECONDS, HOUR_MS, MINUTE_MS } from './time.ts';
import { LEASE_MS } from './timeouts.ts';

export type { Attempt, DeliveryRecord };

export const RETENTION_SECONDS = 30 * DAY_SECONDS;

/** A delivery claimed later than this after its attempt was due waited for the service: no destination failed. */
const MAX_LATE_CLAIM_MS = HOUR_MS;

/** Records are charged by size. */
const MAX_LABEL_BYTES = 60;

const storedLabel = ({ id, name }: Envelope['event']['entity']): string | undefined =>
  name === undefined || name === id ? undefined : truncateBytes(name.toWellFormed(), MAX_LABEL_BYTES);

/** Returns the record of a first claim. @param type that of the sender */
export const claimedRecord = (
  delivery: Envelope,
  claimId: string,
  nowMs: number,
  type: NotificationTypeId,
): DeliveryRecord => {
  const { event, notification_id: notificationId, accepted_at_ms, dispatched_at_ms, content_hash, notice } = delivery;
  return {
    ...deliveryKey(event, notificationId),
    status: 'pending',
    type,
    event_id: event.event_id.toWellFormed(),
    entity_id: event.entity.id,
    alarm_id: event.alarm.id,
    entity_label: storedLabel(event.entity),
    alarm_label: storedLabel(event.alarm),
    state: event.state,
    content_hash,
    accepted_at_ms,
    dispatched_at_ms,
    producer_message_id: delivery.producer_message_id,
    trace_id: delivery.trace?.id,
    round: roundOf(delivery),
    attempt_count: 0,
    created_at_ms: nowMs,
    updated_at_ms: nowMs,
    round_started_at_ms: nowMs,
    first_attempt_at_ms: 0,
    next_attempt_at_ms: nowMs,
    lease_until_ms: nowMs + LEASE_MS,
    claim_id: claimId,
    attempts: [],
    reached_recipient_hashes: delivery.reached_recipient_hashes,
    ...(notificationTypes[type].canBounce && { siblings: delivery.siblings }),
    notice: notice?.kind,
    ttl: Math.floor(nowMs / 1000) + RETENTION_SECONDS,
  };
};

/** For a notice about the delivery. */
export const correlationOf = ({ producer_message_id, trace_id }: DeliveryRecord): Correlation => ({
  producer_message_id,
  trace: trace_id === undefined ? undefined : { id: trace_id },
});

/** False for an event that arrived twice, true for a retry, a redelivery, and what SQS delivers twice. */
export const isOfSameDispatch = (left: DeliveryRecord, right: DeliveryRecord): boolean =>
  right.dispatched_at_ms === undefined ||
  (left.dispatched_at_ms === right.dispatched_at_ms && left.producer_message_id === right.producer_message_id);

export type Claim =
  /** This worker may process the delivery until its lease expires. */
  | { kind: 'claimed'; record: DeliveryRecord }
  | { kind: 'ended'; record: DeliveryRecord }
  /** The record belongs to another event with the same ID; the first event wins. */
  | { kind: 'conflict' }
  | { kind: 'busy'; leaseUntilMs: number }
  | { kind: 'not_due'; record: DeliveryRecord };

const withNewRound = (record: DeliveryRecord, round: number, nowMs: number): DeliveryRecord => ({
  ...record,
  status: 'pending',
  round,
  attempt_count: 0,
  updated_at_ms: nowMs,
  round_started_at_ms: nowMs,
  first_attempt_at_ms: 0,
  next_attempt_at_ms: nowMs,
  late_at_ms: undefined,
  last_cause: undefined,
  last_reason: undefined,
});

/** 24 h after the first attempt, or after four days without one. */
export const isRoundExpired = (
  { attempt_count, round_started_at_ms, first_attempt_at_ms }: DeliveryRecord,
  nowMs: number,
): boolean =>
  attempt_count > 0 ? nowMs - first_attempt_at_ms > MAX_AGE_MS : nowMs - round_started_at_ms > MAX_WAIT_FOR_ATTEMPT_MS;

/** The cause of the last failure, or `service` if no attempt counted. */
export const roundExpiryCause = ({ attempt_count, last_cause }: DeliveryRecord): FailureCause =>
  attempt_count === 0 ? 'service' : (last_cause ?? 'destination');

/** Some could not be recorded, and are only in the message. */
const reachedOf = (
  { reached_recipient_hashes: recorded = [] }: DeliveryRecord,
  { reached_recipient_hashes: sent }: DeliveryRecord,
) => sent && { reached_recipient_hashes: [...new Set([...recorded, ...sent])] };

/**
 * Evaluates a claim on an existing record (docs/decisions/deliveries.md#rounds).
 * A failed delivery starts a new round only for a message of exactly that round, such as its redriven dead letter;
 * other messages are duplicates. A pending one also accepts messages of earlier rounds, because the record counts the
 * attempts. It starts a new round if its attempt is overdue by its schedule: an outage of the service must use up
 * neither the attempts nor the time of a round.
 */
export const evaluateClaim = (existing: DeliveryRecord, initial: DeliveryRecord, nowMs: number): Claim => {
  // The SDK may have retried this claim after losing the first response.
  if (existing.claim_id === initial.claim_id) return { kind: 'claimed', record: existing };
  if (existing.content_hash !== initial.content_hash) return { kind: 'conflict' };
  if (existing.lease_until_ms > nowMs) return { kind: 'busy', leaseUntilMs: existing.lease_until_ms };
  const { claim_id, lease_until_ms, ttl, type, siblings = existing.siblings } = initial;
  const wasInterrupted = existing.lease_until_ms > 0;
  const interruption = wasInterrupted ? { was_interrupted: true } : {};
  const reached = reachedOf(existing, initial);
  const claimed = { ...existing, ...interruption, ...reached, claim_id, lease_until_ms, ttl, type, siblings };
  if (existing.status === 'failed') {
    return initial.round === existing.round + 1
      ? { kind: 'claimed', record: withNewRound(claimed, initial.round, nowMs) }
      : { kind: 'ended', record: existing };
  }
  if (existing.status !== 'pending') return { kind: 'ended', record: existing };
  if (existing.next_attempt_at_ms > nowMs) return { kind: 'not_due', record: existing };
  const scheduledAtMs = Math.max(existing.next_attempt_at_ms, existing.scheduled_attempt_at_ms ?? 0);
  const isLate = nowMs - scheduledAtMs > MAX_LATE_CLAIM_MS;
  // Without an attempt, only the time of a round can be used up.
  return isLate && (existing.attempt_count > 0 || isRoundExpired(existing, nowMs))
    ? { kind: 'claimed', record: withNewRound(claimed, existing.round + 1, nowMs) }
    : { kind: 'claimed', record: claimed };
};

/** A request without a response, or with a server error, can have been processed. */
export const mayHaveArrived = ({ was_interrupted = false, attempts }: DeliveryRecord): boolean =>
  was_interrupted || attempts.some(({ result, reason }) => result === 'transient' && reason !== 'blocked_address');

const attemptOf = (outcome: AttemptOutcome, startedAtMs: number, durationMs: number): Attempt => ({
  timestamp_ms: startedAtMs,
  result: outcome.result,
  status: outcome.status,
  ...(outcome.result !== 'delivered' && { reason: outcome.reason, response_text: outcome.responseText }),
  duration_ms: durationMs,
});

/** Keeps the lease until the record is written. */
export const withAttempt = (
  record: DeliveryRecord,
  outcome: AttemptOutcome,
  startedAtMs: number,
  durationMs: number,
): DeliveryRecord => {
  const isFailure = outcome.result !== 'delivered';
  const counts = !isFailure || outcome.countsAsAttempt !== false;
  return {
    ...record,
    ...(counts && {
      attempt_count: record.attempt_count + 1,
      first_attempt_at_ms: record.first_attempt_at_ms || startedAtMs,
      attempts: [...record.attempts, attemptOf(outcome, startedAtMs, durationMs)].slice(-MAX_ATTEMPTS),
    }),
    ...(isFailure && {
      last_cause: outcome.cause,
      last_reason: counts ? undefined : outcome.reason,
      last_failed_at_ms: startedAtMs + durationMs,
    }),
    // The first of the two requests may have arrived, whatever the response to the second one.
    ...(isFailure && outcome.wasResent && { was_interrupted: true }),
    updated_at_ms: startedAtMs + durationMs,
    // A destination without recipients, such as after a change of the type, has been reached as a whole.
    reached_recipient_hashes:
      outcome.reachedRecipientHashes ?? (isFailure ? record.reached_recipient_hashes : undefined),
  };
};

/** Ends the lease. @param rest what else changes */
export const withStatus = (
  record: DeliveryRecord,
  status: Exclude<DeliveryStatus, 'pending'>,
  nowMs: number,
  rest: Partial<DeliveryRecord> = {},
): DeliveryRecord => ({ ...record, ...rest, status, updated_at_ms: nowMs, lease_until_ms: 0 });

/** Another system delivers the alert. */
export const isShadow = ({ status, withheld }: DeliveryRecord): boolean =>
  status === 'cancelled' && withheld === 'shadow';

/** Counts neither as reached nor as failed. */
export const isMuted = ({ status, withheld }: DeliveryRecord): boolean =>
  status === 'cancelled' && withheld === 'muted';

/** The record has both times if SQS accepted the older event later, which only they explain. */
export const withSuperseded = (
  record: DeliveryRecord,
  time: EventTime,
  newer: EventTime,
  nowMs: number,
): DeliveryRecord => ({
  ...withStatus(record, 'superseded', nowMs),
  ...(isOlderByTimestamp(time, newer) && {
    event_at_ms: time.producedAtMs,
    newer_event_at_ms: newer.producedAtMs,
  }),
});

export const withFailure = (record: DeliveryRecord, reason: FailureReason, nowMs: number): DeliveryRecord => ({
  ...withStatus(record, 'failed', nowMs),
  last_reason: record.attempts.at(-1)?.reason === reason ? undefined : reason,
  last_failed_at_ms: nowMs,
});

export const haveAllBounced = ({
  reached_recipient_hashes: reached = [],
  bounced_recipient_hashes: bounced,
}: DeliveryRecord): boolean => reached.length > 0 && reached.every((hash) => bounced?.has(hash));

/** A pending delivery, a redelivery of a failed one, and a summary of the alert may still reach others. */
export const mustBecomeBounced = (record: DeliveryRecord): boolean =>
  !['pending', 'failed', 'bounced', 'summarized'].includes(record.status) && haveAllBounced(record);

export const withBounce = (record: DeliveryRecord, nowMs: number): DeliveryRecord =>
  withStatus(record, 'bounced', nowMs, { last_reason: record.bounce_reason ?? 'bounced' });

/** Ends the lease. */
export const withNextAttempt = (record: DeliveryRecord, nextAttemptAtMs: number): DeliveryRecord => ({
  ...record,
  next_attempt_at_ms: nextAttemptAtMs,
  lease_until_ms: 0,
});

/**
 * An alert is reported if its next attempt is due later than this after the start of its round
 * (docs/decisions/notices.md#notices). Batching (20 s), the timeout (15 s), the stream and the report itself (15 s)
 * could delay a report by that attempt beyond five minutes.
 */
const REPORT_AFTER_MS = 5 * MINUTE_MS - 50_000;

/** Whoever is at fault: with the normal schedule after the fourth attempt, or the third one if all time out. */
export const isLate = (
  { status, last_cause, next_attempt_at_ms, scheduled_attempt_at_ms = 0, round_started_at_ms }: DeliveryRecord,
  scale: number,
): boolean =>
  status === 'pending' &&
  last_cause !== undefined &&
  // A tenant who requests the next attempt earlier does not end the failure.
  Math.max(next_attempt_at_ms, scheduled_attempt_at_ms) - round_started_at_ms > REPORT_AFTER_MS * scale;

/** In code points. */
const MAX_RECORDED_STATUS_LENGTH = 255;

/** Adds what reports need of an alert that fails for minutes, or has ended without arriving. */
export const withReportedAlert = (
  record: DeliveryRecord,
  { event, siblings }: Pick<Envelope, 'event' | 'siblings'>,
  scale: number,
): DeliveryRecord => {
  const { status } = record;
  const hasBecomeLate = isLate(record, scale);
  const isFailure = status === 'failed' || hasBecomeLate;
  if (!isFailure && status !== 'summarized' && (status !== 'cancelled' || isShadow(record))) return record;
  const { incident_key, produced_at_ms, entity, alarm } = event;
  const text =
    event.status === undefined ? undefined : truncate(event.status, MAX_RECORDED_STATUS_LENGTH).toWellFormed();
  const failure = isFailure && { entity, alarm, status: text };
  const late = hasBecomeLate && { late_at_ms: record.late_at_ms ?? record.updated_at_ms };
  return { ...record, ...late, siblings, alert: { incident_key, produced_at_ms, ...failure } };
};
