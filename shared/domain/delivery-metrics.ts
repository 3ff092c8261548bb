import type { FailureCause, FailureReason } from '../contracts/outcomes.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';

/** The namespace of the service's own metrics. */
export const METRICS_NAMESPACE = 'MonitoringNotifications';

/** What is counted of a type's deliveries besides what became of each message. */
export type DeliveryCount =
  /** Sends to a destination, and those of them that the destination failed: their ratio tells how the destinations are. */
  | 'destination_attempts'
  | 'destination_failures'
  /** Dead letters, by whose fault they are. */
  | 'dead_lettered_service'
  | 'dead_lettered_destination'
  /** Alerts over a tenant's limit of the day. */
  | 'tenant_limit_exceeded'
  /** Sends that AWS refused because of how operators set up the account. */
  | 'misconfigured'
  /** Sends that failed through AWS or our account, its daily quota excepted. */
  | 'service_failures'
  /** Sends for which our account has no quota left today. */
  | 'aws_quota_exceeded'
  /** Notices to technical contacts that could not be queued. */
  | 'notices_not_queued';

/** Milliseconds from when a delivery could first be tried until its destination took it. */
export const DELIVERY_LATENCY = 'delivery_latency';

/** Milliseconds from when an alarm event came until its deliveries were on the queues of their types. */
export const DISPATCH_LATENCY = 'dispatch_latency';

/** What became of one message, as far as it is counted. */
export type Settlement = {
  /** What came of the send, where there was one. */
  attemptOutcome?: AttemptOutcome;
  /** Whose fault it is, where the message is dead now. */
  cause?: FailureCause;
  /** True where a notice to the technical contacts was due and could not be queued. */
  noticeLost?: boolean;
};

/** Failures without an attempt: nothing was sent, so they say nothing of how destinations are. */
export const notSent: readonly FailureReason[] = [
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
  if (notSent.includes(reason)) return [];
  return cause === 'service' ? ['service_failures'] : ['destination_attempts', 'destination_failures'];
};

/** The counts that a settled message adds one to. */
export const deliveryCounts = ({ attemptOutcome, cause, noticeLost }: Settlement): DeliveryCount[] => [
  ...(attemptOutcome ? countsOfAttempt(attemptOutcome) : []),
  ...(cause ? [`dead_lettered_${cause}` as const] : []),
  ...(noticeLost ? ['notices_not_queued' as const] : []),
];

/**
 * How long a delivery has taken, in ms: since its message was put on the queue of its type, or since its round began where
 * the message is a retry. So waits between attempts count, and the time before the dispatch does not (`DISPATCH_LATENCY`).
 *
 * @param opened when the round began, ms
 * @param sent when the message was sent, ms
 */
export const deliveryLatency = (opened: number, sent: number, now: number): number =>
  Math.max(0, now - Math.min(opened, sent));
