import type { FailureCause, FailureReason } from '../contracts/outcomes.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';

/** The namespace of the service's own metrics. */
export const METRICS_NAMESPACE = 'MonitoringNotifications';

/** Metrics of a type's deliveries, in addition to the message outcomes. */
export type DeliveryCount =
  /** Sends to destinations, and how many of them failed because of the destination. */
  | 'destination_attempts'
  | 'destination_failures'
  /** Dead letters by cause. */
  | 'dead_lettered_service'
  | 'dead_lettered_destination'
  /** Alerts that exceeded a tenant's daily limit. */
  | 'tenant_limit_exceeded'
  /** Sends that AWS rejected because of the account's configuration. */
  | 'misconfigured'
  /** Sends that failed because of AWS or the account, except its daily quota. */
  | 'service_failures'
  /** Sends that exceeded the account's daily quota. */
  | 'aws_quota_exceeded';

/** Metric: milliseconds from the first possible attempt until the destination accepted the alert. */
export const DELIVERY_LATENCY = 'delivery_latency';

/** Metric: milliseconds from the arrival of an alarm event until its deliveries are on the queues of their types. */
export const DISPATCH_LATENCY = 'dispatch_latency';

/** The result of processing a message, for metrics. */
export type Settlement = {
  /** The outcome of the attempt, if there was one. */
  attemptOutcome?: AttemptOutcome;
  /** The cause, if the message was dead-lettered. */
  cause?: FailureCause;
};

/** Reasons of failures in which nothing was sent. They do not count as destination failures. */
export const notSentReasons: readonly FailureReason[] = [
  'tenant_limit_exceeded',
  'country_not_allowed',
  'no_contacts',
  'no_feed_configured',
  'circuit_open',
  'attempts_exhausted',
  'expired',
];

const countsOfAttempt = (attempt: AttemptOutcome): DeliveryCount[] => {
  if (attempt.result === 'delivered') return ['destination_attempts'];
  const { reason, cause } = attempt;
  if (reason === 'tenant_limit_exceeded') return ['tenant_limit_exceeded'];
  if (reason === 'aws_quota_exceeded') return ['aws_quota_exceeded'];
  if (reason === 'sender_misconfigured') return ['misconfigured', 'service_failures'];
  if (notSentReasons.includes(reason)) return [];
  return cause === 'service' ? ['service_failures'] : ['destination_attempts', 'destination_failures'];
};

/** Returns the metrics that a settled message increments. */
export const deliveryCounts = ({ attemptOutcome, cause }: Settlement): DeliveryCount[] => [
  ...(attemptOutcome ? countsOfAttempt(attemptOutcome) : []),
  ...(cause ? [`dead_lettered_${cause}` as const] : []),
];

/**
 * Returns the latency of a delivery in ms: the time since its message was sent or, for a retry, since its round
 * started. It includes the delays between attempts, but not the time in dispatch (`DISPATCH_LATENCY`).
 */
export const deliveryLatency = (roundStartedAtMs: number, messageSentAtMs: number, nowMs: number): number =>
  Math.max(0, nowMs - Math.min(roundStartedAtMs, messageSentAtMs));
