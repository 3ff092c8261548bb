/** The reasons of failures in logs, records and dead letters. */
export const failureReasons = [
  'http_status',
  'network_error',
  'timeout',
  'blocked_address',
  'rejected',
  'throttled',
  'tenant_limit_exceeded',
  'aws_quota_exceeded',
  'country_not_allowed',
  'circuit_open',
  'no_feed_configured',
  'no_contacts',
  'opted_out',
  'complained',
  'email_off',
  'sender_misconfigured',
  'attempts_exhausted',
  'expired',
  'malformed',
  'too_large',
  'too_many_notifications',
  'bounced',
  'type_without_summaries',
] as const;

/** Why nothing is sent to a mailbox by a tenant. If there are several reasons, the first applies. */
export const stopReasons = ['opted_out', 'complained', 'bounced'] as const satisfies readonly FailureReason[];
export type StopReason = (typeof stopReasons)[number];

/** Returns whether a reason is that of a stop. */
export const isStopReason = (reason: FailureReason | undefined): reason is StopReason =>
  stopReasons.some((stop) => stop === reason);

/** The reason of a failure. */
export type FailureReason = (typeof failureReasons)[number];

/** Why alerts are recorded and not sent: their tenant is in shadow mode, or the notification is muted. */
export const withheldReasons = ['shadow', 'muted'] as const;
export type WithheldReason = (typeof withheldReasons)[number];

/**
 * The reasons why a delivery has not arrived: those of failures, `older_timestamp`, if an event was superseded although
 * SQS accepted it more than 60 s after the newer one, and those of withheld alerts.
 */
export const deliveryReasons = [...failureReasons, 'older_timestamp', ...withheldReasons] as const;
export type DeliveryReason = (typeof deliveryReasons)[number];

/**
 * The statuses of a delivery. A failed delivery becomes pending again when the message of its next round arrives. A
 * bounced delivery was delivered until SES reported the bounce. A summarized alert is listed in a summary.
 */
export const deliveryStatuses = [
  'pending',
  'delivered',
  'failed',
  'superseded',
  'cancelled',
  'bounced',
  'summarized',
] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** The results of attempts (docs/decisions/formats.md#attempt-outcomes). */
export const attemptResults = ['delivered', 'throttled', 'transient', 'permanent'] as const;

/** The causes of failed deliveries: tenants fix `destination`, operators fix `service`. */
export const failureCauses = ['destination', 'service'] as const;
export type FailureCause = (typeof failureCauses)[number];

/** The cause of a dead letter: that of a failed delivery or, for an invalid alarm event, its producer. */
export type DeadLetterCause = FailureCause | 'producer';

/** The outcomes of processing a message on a sender's queue: names of metrics and values of the log field `outcome`. */
export const messageOutcomes = [
  'delivered',
  'retried',
  'dead_lettered',
  'superseded',
  'cancelled',
  'summarized',
  'forwarded',
  'duplicate',
  'conflict',
  'not_due',
  'moved',
  'busy',
  'unrecorded',
  'throttled_keys',
  'internal_error',
] as const;
export type MessageOutcome = (typeof messageOutcomes)[number];
