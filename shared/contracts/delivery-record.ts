import * as z from 'zod/mini';
import { alarmStates } from './alarm-event.ts';
import { namedRecord } from './event-header.ts';
import { noticeKinds } from './notice.ts';
import { attemptResults, deliveryStatuses, failureCauses, failureReasons, withheldReasons } from './outcomes.ts';

/** A later version's reason is absent: it must not block deliveries. (`catch` would add 8 KB to the bundles.) */
export const knownReason = z.optional(
  z.pipe(
    z.unknown(),
    z.transform((value) => failureReasons.find((reason) => reason === value)),
  ),
);

const attempt = z.object({
  timestamp_ms: z.number(),
  result: z.enum(attemptResults),
  status: z.optional(z.number()),
  reason: knownReason,
  /** The beginning of the failed response, without secrets. */
  response_text: z.optional(z.string()),
  duration_ms: z.number(),
});

export type Attempt = z.infer<typeof attempt>;

/** What SES reports about an email that it had accepted: `bounce` is for good, `reject` because of the content. */
export const emailReportKinds = ['bounce', 'temporary_bounce', 'reject', 'complaint'] as const;
export type EmailReport = (typeof emailReportKinds)[number];

const reportedAlert = z.object({
  incident_key: z.string(),
  produced_at_ms: z.optional(z.int()),
  /** Only if the alert fails or failed; the status text is truncated. */
  entity: z.optional(namedRecord),
  alarm: z.optional(namedRecord),
  status: z.optional(z.string()),
});

/** Only the recorder of email events writes them. */
const emailReportAttributes = {
  /** Salted hashes. */
  bounced_recipient_hashes: z.optional(z.set(z.string())),
  /** Of the last bounce: `bounced`, or `rejected` by SES after it accepted the email. */
  bounce_reason: knownReason,
  /** What SES last reported other than a delivery or a delay, and when. */
  email_report: z.optional(z.enum(emailReportKinds)),
  email_reported_at_ms: z.optional(z.number()),
  confirmed_at_ms: z.optional(z.number()),
  /** When SES last reported that a server has not yet accepted one. */
  delayed_at_ms: z.optional(z.number()),
};

export const emailReports = z.object(emailReportAttributes);

/**
 * The record of a delivery (table Deliveries): IDs, times and outcomes, never a destination. Smaller than 1 KB up to
 * the third attempt, unless it has long labels, many `siblings` or response texts: up to 1 KB each. All times except
 * `ttl` are ms since the epoch.
 */
export const deliveryRecord = z.object({
  pk: z.string(),
  sk: z.string(),
  status: z.enum(deliveryStatuses),
  /** That of the notification at the last claim. */
  type: z.string(),
  event_id: z.string(),
  entity_id: z.string(),
  alarm_id: z.string(),
  /** Truncated; absent if they are the IDs. */
  entity_label: z.optional(z.string()),
  alarm_label: z.optional(z.string()),
  /** In a summary: the most severe state of its alarms, as far as it was read. */
  state: z.enum(alarmStates),
  /** Digest of the event, to detect another event with the same ID. */
  content_hash: z.string(),
  /** When SQS accepted the event, or the service created the notice. An escalation has that of its alert. */
  accepted_at_ms: z.optional(z.number()),
  /** Absent in a notice. */
  dispatched_at_ms: z.optional(z.number()),
  /** The ID of the producer's SQS message; in a notice, that of the alert that caused it. */
  producer_message_id: z.optional(z.string()),
  trace_id: z.optional(z.string()),
  /** The current round of attempts, from 1, with its attempts. */
  round: z.number(),
  attempt_count: z.number(),
  created_at_ms: z.number(),
  /** When the last attempt ended or the status last changed. */
  updated_at_ms: z.number(),
  round_started_at_ms: z.number(),
  /** In this round; 0 if there was none. */
  first_attempt_at_ms: z.number(),
  next_attempt_at_ms: z.number(),
  /** When the attempt was due that the tenant last requested to be made now. */
  scheduled_attempt_at_ms: z.optional(z.number()),
  /** The end of the attempt in this round after which none was due within five minutes. */
  late_at_ms: z.optional(z.number()),
  retry_requested_at_ms: z.optional(z.number()),
  /** Of the last failure in this round, including attempts that do not count. */
  last_cause: z.optional(z.enum(failureCauses)),
  /** New rounds keep it, so an alert that arrives shows that it had failed. */
  last_failed_at_ms: z.optional(z.number()),
  /** If it is not that of the last entry of `attempts` (`failureReasonOf`); or why a notice was cancelled. */
  last_reason: knownReason,
  /** 0 if the record is not claimed. */
  lease_until_ms: z.number(),
  claim_id: z.string(),
  /** True if the lease of a claim expired, or a connection was closed: the alert may have arrived. */
  was_interrupted: z.optional(z.boolean()),
  attempts: z.array(attempt),
  /** The producer's times of the event and the newer one, if it was superseded for the reason `older_timestamp`. */
  event_at_ms: z.optional(z.number()),
  newer_event_at_ms: z.optional(z.number()),
  withheld: z.optional(z.enum(withheldReasons)),
  /** IDs of the event's other notifications, for types that can bounce and for alerts that do not arrive. */
  siblings: z.optional(z.array(z.string())),
  /** Present if the alert failed for minutes, or ended without arriving (`withReportedAlert`). */
  alert: z.optional(reportedAlert),
  notice: z.optional(z.enum(noticeKinds)),
  summary_id: z.optional(z.string()),
  /** In a summary: the number of its alarms when it was last sent, and the names of the first, most severe first. */
  alarm_count: z.optional(z.number()),
  alarm_names: z.optional(z.array(z.string())),
  /** Salted hashes of the recipients whose email SES has accepted so far. */
  reached_recipient_hashes: z.optional(z.array(z.string())),
  ...emailReportAttributes,
  /** Epoch seconds. */
  ttl: z.number(),
});
export type DeliveryRecord = z.infer<typeof deliveryRecord>;
