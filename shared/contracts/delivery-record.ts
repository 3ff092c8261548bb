import * as z from 'zod/mini';
import { alarmStates } from './alarm-event.ts';
import { namedRecord } from './event-header.ts';
import { noticeKinds } from './notice.ts';
import { attemptResults, deliveryStatuses, failureCauses, failureReasons, withheldReasons } from './outcomes.ts';

/**
 * A reason that only a later version defines is read as absent: after a rollback, it must not block deliveries. (`catch`
 * would add 8 KB to the bundles.)
 */
export const knownReason = z.optional(
  z.pipe(
    z.unknown(),
    z.transform((value) => failureReasons.find((reason) => reason === value)),
  ),
);

const attempt = z.object({
  /** Start of the attempt, ms since the epoch. */
  timestamp_ms: z.number(),
  result: z.enum(attemptResults),
  /** HTTP status of the response. */
  status: z.optional(z.number()),
  /** Reason of the failure. */
  reason: knownReason,
  /** The beginning of the failed response, without secrets. */
  response_text: z.optional(z.string()),
  duration_ms: z.number(),
});

/** An attempt in a delivery record. */
export type Attempt = z.infer<typeof attempt>;

/** What SES reports about an email that it had accepted: a bounce for good or for now, a rejected content, a complaint. */
export const emailReportKinds = ['bounce', 'temporary_bounce', 'reject', 'complaint'] as const;
export type EmailReport = (typeof emailReportKinds)[number];

/** What reports say of an alert that does not arrive. */
const reportedAlert = z.object({
  incident_key: z.string(),
  /** The producer's time of the event. */
  produced_at_ms: z.optional(z.int()),
  /** Entity, alarm and the start of the status text, if the alert fails or failed. */
  entity: z.optional(namedRecord),
  alarm: z.optional(namedRecord),
  status: z.optional(z.string()),
});

/** The attributes of a delivery record that only the recorder of email events writes. */
const emailReportAttributes = {
  /** Salted hashes of the recipients whose email bounced. Only `recordEmailReport` writes it, whatever the status. */
  bounced_recipient_hashes: z.optional(z.set(z.string())),
  /** Reason of the last bounce: `bounced`, or `rejected` by SES after it accepted the email. */
  bounce_reason: knownReason,
  /** What SES last reported about an email that it had accepted, other than its delivery or delay. */
  email_report: z.optional(z.enum(emailReportKinds)),
  /** When SES accepted or reported that. */
  email_reported_at_ms: z.optional(z.number()),
  /** When the server of a recipient last accepted an email of the delivery. */
  confirmed_at_ms: z.optional(z.number()),
  /** When SES last reported that a server has not yet accepted one. */
  delayed_at_ms: z.optional(z.number()),
};

/** What SES reported about the emails of a delivery. */
export const emailReports = z.object(emailReportAttributes);

/**
 * The record of a delivery (table Deliveries): IDs, times and outcomes, never a destination. It is smaller than 1 KB up
 * to the third attempt (with the longest labels, the second), if `siblings` lists few notifications, without the
 * response texts of failed attempts: up to 1 KB each. All times except `ttl` are ms since the epoch.
 */
export const deliveryRecord = z.object({
  pk: z.string(),
  sk: z.string(),
  status: z.enum(deliveryStatuses),
  /** The type of the notification at the last claim. */
  type: z.string(),
  event_id: z.string(),
  entity_id: z.string(),
  alarm_id: z.string(),
  /** The names of entity and alarm, truncated, if they are not their IDs. */
  entity_label: z.optional(z.string()),
  alarm_label: z.optional(z.string()),
  /** In a summary: the most severe state of its alarms, as far as it was read. */
  state: z.enum(alarmStates),
  /** Digest of the event, to detect another event with the same ID. */
  content_hash: z.string(),
  /** When SQS accepted the event, or the service created the notice. An escalation has that of its alert. */
  accepted_at_ms: z.optional(z.number()),
  /** When dispatch received the event. Absent in a notice. */
  dispatched_at_ms: z.optional(z.number()),
  /** The ID of the producer's SQS message; in a notice, that of the alert that caused it. */
  producer_message_id: z.optional(z.string()),
  /** The ID of the alert's trace. */
  trace_id: z.optional(z.string()),
  /** Number of the current round of attempts, from 1. */
  round: z.number(),
  /** Number of attempts in this round. */
  attempt_count: z.number(),
  /** When the delivery was first claimed. */
  created_at_ms: z.number(),
  /** When the last attempt ended or the status last changed. */
  updated_at_ms: z.number(),
  round_started_at_ms: z.number(),
  /** Start of the first attempt in this round; 0 if there was none. */
  first_attempt_at_ms: z.number(),
  next_attempt_at_ms: z.number(),
  /** When the attempt was due that the tenant last requested to be made now. */
  scheduled_attempt_at_ms: z.optional(z.number()),
  /** The end of the attempt in this round after which none was due within five minutes; present if the alert is late. */
  late_at_ms: z.optional(z.number()),
  /** When the tenant last requested that the next attempt is made now. */
  retry_requested_at_ms: z.optional(z.number()),
  /** Cause of the last failure in this round, including attempts that do not count. */
  last_cause: z.optional(z.enum(failureCauses)),
  /** When an attempt or a round last failed; new rounds keep it, so an alert that arrives shows that it had failed. */
  last_failed_at_ms: z.optional(z.number()),
  /**
   * Reason of the last failure in this round, if it is not that of the last entry of `attempts` (`failureReasonOf`), or
   * why a notice was cancelled.
   */
  last_reason: knownReason,
  /** End of the current lease; 0 if the record is not claimed. */
  lease_until_ms: z.number(),
  /** Identifies the current or last claim. */
  claim_id: z.string(),
  /** True if an alert may have arrived that no attempt says: the lease of a claim expired, or a connection was closed. */
  was_interrupted: z.optional(z.boolean()),
  attempts: z.array(attempt),
  /** The producer's time of the event; present if the event was superseded for the reason `older_timestamp`. */
  event_at_ms: z.optional(z.number()),
  /** The producer's time of the newer event; present if the event was superseded for the reason `older_timestamp`. */
  newer_event_at_ms: z.optional(z.number()),
  /** Why the alert was not sent, if it was withheld. */
  withheld: z.optional(z.enum(withheldReasons)),
  /**
   * IDs of the event's other notifications, for types that can bounce and for alerts that do not arrive: the event may
   * have reached nobody.
   */
  siblings: z.optional(z.array(z.string())),
  /** Present if the alert failed for minutes, or ended without arriving (`withReportedAlert`). */
  alert: z.optional(reportedAlert),
  /** Present if the delivery is a notice of the service. */
  notice: z.optional(z.enum(noticeKinds)),
  /** The event ID of the summary that lists the alert; present if it is summarized. */
  summary_id: z.optional(z.string()),
  /** In a summary: the number of its alarms when it was last sent. */
  alarm_count: z.optional(z.number()),
  /** In a summary: the names of its first alarms when it was last sent, most severe first. */
  alarm_names: z.optional(z.array(z.string())),
  /** Salted hashes of the recipients whose email SES has accepted so far. */
  reached_recipient_hashes: z.optional(z.array(z.string())),
  ...emailReportAttributes,
  /** When DynamoDB deletes the record, epoch seconds. */
  ttl: z.number(),
});
export type DeliveryRecord = z.infer<typeof deliveryRecord>;
