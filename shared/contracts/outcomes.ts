/** In logs, records and dead letters. */
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

/** Why nothing is sent to a mailbox by a tenant: the first that applies. */
export const stopReasons = ['opted_out', 'complained', 'bounced'] as const satisfies readonly FailureReason[];
export type StopReason = (typeof stopReasons)[number];

export const isStopReason = (reason: FailureReason | undefined): reason is StopReason =>
  stopReasons.some((stop) => stop === reason);

export type FailureReason = (typeof failureReasons)[number];

/** Why alerts are recorded and not sent: shadow mode of the tenant, or a mute of the notification. */
export const withheldReasons = ['shadow', 'muted'] as const;
export type WithheldReason = (typeof withheldReasons)[number];

/** `older_timestamp`: the event was superseded although SQS accepted it more than 60 s after the newer one. */
export const deliveryReasons = [...failureReasons, 'older_timestamp', ...withheldReasons] as const;
export type DeliveryReason = (typeof deliveryReasons)[number];

/** A failed delivery becomes pending when the message of its next round arrives. A bounced one was delivered. */
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

/** docs/decisions/formats.md#attempt-outcomes */
export const attemptResults = ['delivered', 'throttled', 'transient', 'permanent'] as const;

/** Tenants fix `destination`, operators fix `service`. */
export const failureCauses = ['destination', 'service'] as const;
export type FailureCause = (typeof failureCauses)[number];

/** Producers cause invalid alarm events. */
export type DeadLetterCause = FailureCause | 'producer';

/** What became of a message on a sender's queue: names of metrics and values of the log field `outcome`. */
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

/** Who is notified of an alert that reached nobody: the setting `escalateUnreached`. */
export const escalationModes = ['contacts+managed', 'contacts', 'off'] as const;
