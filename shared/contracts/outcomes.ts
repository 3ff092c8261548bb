/** Why a delivery failed: a closed list, the only words about a failure that logs, records and dead letters hold. */
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
  'sender_misconfigured',
  'attempts_exhausted',
  'expired',
  'malformed',
  'too_large',
] as const;

/** Why a delivery failed. */
export type FailureReason = (typeof failureReasons)[number];

/** Whose fault a failure is: `destination` is the tenant's to fix, `service` is ours. */
export const failureCauses = ['destination', 'service'] as const;

/** Whose fault a failure is. */
export type FailureCause = (typeof failureCauses)[number];

/** What a sender did with a message of its queue. Each is the name of a metric and the value of the log field `outcome`. */
export const messageOutcomes = [
  'delivered',
  'retried',
  'dead_lettered',
  'superseded',
  'cancelled',
  'forwarded',
  'duplicate',
  'conflict',
  'not_due',
  'busy',
  'unrecorded',
  'throttled_keys',
  'internal_error',
] as const;

/** What a sender did with a message of its queue. */
export type MessageOutcome = (typeof messageOutcomes)[number];
