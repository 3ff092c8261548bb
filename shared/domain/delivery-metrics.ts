import { type NotificationTypeId, notificationTypes } from '../contracts/notification-types.ts';
import type { FailureReason } from '../contracts/outcomes.ts';
import type { AttemptOutcome, DeliveryResult } from './attempt-outcome.ts';

export const METRICS_NAMESPACE = 'MonitoringNotifications';

/** Counts of a type's deliveries, in addition to the message outcomes. */
export type DeliveryCount =
  | 'dead_lettered_service'
  | 'dead_lettered_destination'
  /** Superseded although SQS accepted them more than 60 s after the newer ones. */
  | 'older_timestamp'
  | 'tenant_limit_exceeded'
  /** Sends that failed because of AWS or the account: an error, throttling, a quota or the configuration. */
  | 'service_failures';

/** Alarm events that are not delivered because their producer broke the contract: invalid, or an ID used twice. */
export const PRODUCER_ERRORS = 'producer_errors';

/** Alarm events that are delivered although they break a rule, such as a time that is not in milliseconds. */
export const PRODUCER_WARNINGS = 'producer_warnings';

/** The sum of both: one metric, because an alarm costs as much as the metrics it reads. */
export const PRODUCER_FAULTS = 'producer_faults';

/** When first received, without heartbeats; only with the setting `expectedEventIntervalMinutes`. */
export const EVENTS_RECEIVED = 'events_received';

/** Milliseconds from the acceptance of the event by SQS until that of the alert by the destination. Not of notices. */
export const DELIVERY_LATENCY = 'delivery_latency';

/**
 * Milliseconds from the acceptance of the event by SQS to the first attempt. It does not depend on the destination:
 * attempts that a circuit, the move of a slow tenant or an incident lock postponed have no value. Neither have notices.
 */
export const FIRST_ATTEMPT_LATENCY = 'first_attempt_latency';

/** Without notices (docs/operations.md#metrics). Dispatch counts what is planned, senders what became of it. */
export const deliveryTotals = [
  'deliveries_planned',
  'deliveries_delivered',
  'deliveries_failed',
  'deliveries_superseded',
  'deliveries_cancelled',
  'deliveries_summarized',
  /** Planned again, because an event arrived twice. */
  'deliveries_repeated',
] as const;
export type DeliveryTotal = (typeof deliveryTotals)[number];

/** 1 for an attempt that failed because of the destination, -1 for one that delivered: large only if most fail. */
export const FAILURE_EXCESS = 'failure_excess';

/** 1 for a call that failed because of an endpoint of the operators, -1 for others, also if the tenant is at fault. */
export const ENDPOINT_FAILURE_EXCESS = 'endpoint_failure_excess';

/** Failures that senders recorded less those that the watcher of the stream saw; and the age of the oldest record. */
const streamMetrics = ['failures_unseen', 'oldest_record_seconds'] as const;
export type StreamMetric = (typeof streamMetrics)[number];

/** What alarms read over all types; and failures of a type, because lines with these dimensions are shorter. */
const totalMetrics = [
  DELIVERY_LATENCY,
  ENDPOINT_FAILURE_EXCESS,
  FAILURE_EXCESS,
  'internal_errors',
  // Seconds: of a message that could not be processed, or by which retries of several tenants were received too late.
  'oldest_unprocessed_seconds',
  'dead_lettered_service',
  'service_failures',
] as const;
export type TotalMetric = (typeof totalMetrics)[number];

/** Emitted only without the dimension of its type or function. */
export const isOnlyTotal = (metric: string): boolean =>
  metric === FIRST_ATTEMPT_LATENCY || [...deliveryTotals, ...streamMetrics].some((name) => name === metric);

/** Also emitted without that dimension, for one alarm. Each further metric costs $0.30 a month while it has values. */
export const hasTotal = (metric: string): boolean => totalMetrics.some((name) => name === metric);

/** Reasons of failures in which nothing was sent. */
const notSentReasons: readonly FailureReason[] = [
  'tenant_limit_exceeded',
  'country_not_allowed',
  'no_contacts',
  'opted_out',
  'complained',
  'email_off',
  'bounced',
  'type_without_summaries',
  'no_feed_configured',
  'circuit_open',
  'attempts_exhausted',
  'expired',
];

/** Failures without a call count neither as destination failures nor for the alarm on destinations. */
export const destinationField = (reason: FailureReason): 'called' | 'not_called' =>
  notSentReasons.includes(reason) ? 'not_called' : 'called';

const countsOfAttempt = (attempt: AttemptOutcome): DeliveryCount[] => {
  if (attempt.result === 'delivered') return [];
  const { reason, cause } = attempt;
  if (reason === 'tenant_limit_exceeded') return ['tenant_limit_exceeded'];
  if (destinationField(reason) === 'not_called') return [];
  return cause === 'service' ? ['service_failures'] : [];
};

export const failureExcess = ({ attempt }: Pick<DeliveryResult, 'attempt'>, type: NotificationTypeId): number[] => {
  if (!attempt || !notificationTypes[type].sendsByHttp) return [];
  if (attempt.result === 'delivered') return [-1];
  return attempt.cause === 'destination' && destinationField(attempt.reason) === 'called' ? [1] : [];
};

export const endpointFailureExcess = ({ attempt }: Pick<DeliveryResult, 'attempt'>): number[] => {
  if (attempt?.isEndpointFailure === undefined) return [];
  return [attempt.isEndpointFailure ? 1 : -1];
};

export const deliveryCounts = ({
  attempt,
  cause,
  hasOlderTimestamp,
}: Pick<DeliveryResult, 'attempt' | 'cause' | 'hasOlderTimestamp'>): DeliveryCount[] => [
  ...(attempt ? countsOfAttempt(attempt) : []),
  ...(cause ? [`dead_lettered_${cause}` as const] : []),
  ...(hasOlderTimestamp ? ['older_timestamp' as const] : []),
];

const totalOfKind: Partial<Record<DeliveryResult['kind'], DeliveryTotal>> = {
  delivered: 'deliveries_delivered',
  unrecorded: 'deliveries_delivered',
  dead_lettered: 'deliveries_failed',
  superseded: 'deliveries_superseded',
  cancelled: 'deliveries_cancelled',
  summarized: 'deliveries_summarized',
};

export const deliveryTotal = ({ kind, isRepeated }: DeliveryResult): DeliveryTotal | undefined =>
  isRepeated ? 'deliveries_repeated' : totalOfKind[kind];
