import { type NotificationTypeId, notificationTypes } from '../contracts/notification-types.ts';
import type { FailureReason } from '../contracts/outcomes.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';
import type { DeliveryResult } from './delivery-result.ts';

/** The namespace of the service's own metrics. */
export const METRICS_NAMESPACE = 'MonitoringNotifications';

/** Counts of a type's deliveries, in addition to the message outcomes. */
export type DeliveryCount =
  /** Dead letters by cause. */
  | 'dead_lettered_service'
  | 'dead_lettered_destination'
  /** Events that were superseded although SQS accepted them more than 60 s after the newer ones. */
  | 'older_timestamp'
  /** Alerts that exceeded a tenant's daily limit. */
  | 'tenant_limit_exceeded'
  /** Sends that failed because of AWS or the account: an error, throttling, a quota or the configuration. */
  | 'service_failures';

/** What a queue consumer emits about a batch in which something failed or was late. */
export type BatchFailure =
  /** Messages not processed and deliveries not recorded because of internal errors. */
  | 'internal_errors'
  /**
   * Age in seconds of the oldest message that could not be processed, or by which the retries of several tenants were
   * received too late.
   */
  | 'oldest_unprocessed_seconds'
  /** Messages returned because DynamoDB throttles the partition key of one tenant. */
  | 'throttled_keys';

/** Alarm events that are not delivered because their producer broke the contract: invalid, or an ID used twice. */
export const PRODUCER_ERRORS = 'producer_errors';

/** Alarm events that are delivered although they break a rule, such as a time that is not in milliseconds. */
export const PRODUCER_WARNINGS = 'producer_warnings';

/** The sum of errors and warnings of producers: one metric, because an alarm costs as much as the metrics it reads. */
export const PRODUCER_FAULTS = 'producer_faults';

/**
 * Alarm events of producers, each when it is first received, only with the setting `expectedEventIntervalMinutes`.
 * Not heartbeats.
 */
export const EVENTS_RECEIVED = 'events_received';

/**
 * Metric: milliseconds from the acceptance of the alarm event by SQS until the destination accepted the alert, whichever
 * attempt that was. Each delivery has one value. Notices have none.
 */
export const DELIVERY_LATENCY = 'delivery_latency';

/**
 * Metric over all types: milliseconds from the acceptance of the alarm event by SQS to the start of the first attempt to
 * deliver the alert. Unlike the delivery latency, it does not depend on the destination: attempts that a circuit, the
 * move of a slow tenant or an incident lock postponed have no value. Neither have notices.
 */
export const FIRST_ATTEMPT_LATENCY = 'first_attempt_latency';

/**
 * Counts of the deliveries of alarm events over all types, without those of notices (docs/operations.md#metrics).
 * Dispatch counts planned deliveries when it has queued them, and senders what became of them.
 */
export const deliveryTotals = [
  'deliveries_planned',
  'deliveries_delivered',
  'deliveries_failed',
  'deliveries_superseded',
  'deliveries_cancelled',
  'deliveries_summarized',
  /** Deliveries that were planned again, because an event arrived twice. */
  'deliveries_repeated',
] as const;
export type DeliveryTotal = (typeof deliveryTotals)[number];

/**
 * Metric of a type that sends by HTTP: 1 for an attempt that failed because of the destination, -1 for one that delivered.
 * So its sum is large only if most attempts fail, and many.
 */
export const FAILURE_EXCESS = 'failure_excess';

/**
 * Metric of a type with an endpoint of the operators: 1 for a call of it that failed because of the endpoint, -1 for
 * another one. `FAILURE_EXCESS` counts the same attempts, but also failures because of tenants.
 */
export const ENDPOINT_FAILURE_EXCESS = 'endpoint_failure_excess';

/**
 * Metrics of the stream of Deliveries: failures that senders recorded less those that its watcher saw, so that no value is
 * below 0 while it sees none; and the age of the oldest record.
 */
const streamMetrics = ['failures_unseen', 'oldest_record_seconds'] as const;
export type StreamMetric = (typeof streamMetrics)[number];

/**
 * The metrics that alarms read over all types and functions, and those of failures of a type, because a log line of a
 * batch is shorter if they have the dimensions of `DELIVERY_LATENCY`.
 */
export type TotalMetric =
  | typeof DELIVERY_LATENCY
  | typeof ENDPOINT_FAILURE_EXCESS
  | typeof FAILURE_EXCESS
  | Extract<BatchFailure, 'internal_errors' | 'oldest_unprocessed_seconds'>
  | Extract<DeliveryCount, 'dead_lettered_service' | 'service_failures'>;

const totalMetrics: Record<TotalMetric, true> = {
  delivery_latency: true,
  endpoint_failure_excess: true,
  failure_excess: true,
  internal_errors: true,
  oldest_unprocessed_seconds: true,
  dead_lettered_service: true,
  service_failures: true,
};

/** Returns whether a metric is emitted only without the dimension of its type or function. */
export const isOnlyTotal = (metric: string): boolean =>
  metric === FIRST_ATTEMPT_LATENCY || [...deliveryTotals, ...streamMetrics].some((name) => name === metric);

/**
 * Returns whether a metric is also emitted without the dimension of its type or function. One alarm on that metric
 * costs as much as an alarm on a single type. Each further metric costs $0.30 a month while it has values.
 */
export const hasTotal = (metric: string): boolean => Object.hasOwn(totalMetrics, metric);

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

/**
 * Returns what logs say of a failure: whether the sender called the destination. Other failures count neither as
 * destination failures nor for the alarm on destinations.
 */
export const destinationField = (reason: FailureReason): 'called' | 'not_called' =>
  notSentReasons.includes(reason) ? 'not_called' : 'called';

const countsOfAttempt = (attempt: AttemptOutcome): DeliveryCount[] => {
  if (attempt.result === 'delivered') return [];
  const { reason, cause } = attempt;
  if (reason === 'tenant_limit_exceeded') return ['tenant_limit_exceeded'];
  if (destinationField(reason) === 'not_called') return [];
  return cause === 'service' ? ['service_failures'] : [];
};

/** Returns the value of the metric `FAILURE_EXCESS`, if the result of a message has one. */
export const failureExcess = ({ attempt }: Pick<DeliveryResult, 'attempt'>, type: NotificationTypeId): number[] => {
  if (!attempt || !notificationTypes[type].sendsByHttp) return [];
  if (attempt.result === 'delivered') return [-1];
  return attempt.cause === 'destination' && destinationField(attempt.reason) === 'called' ? [1] : [];
};

/** Returns the value of the metric `ENDPOINT_FAILURE_EXCESS`, if the result of a message has one. */
export const endpointFailureExcess = ({ attempt }: Pick<DeliveryResult, 'attempt'>): number[] => {
  if (attempt?.isEndpointFailure === undefined) return [];
  return [attempt.isEndpointFailure ? 1 : -1];
};

/** Returns the metrics that the result of a message increments. */
export const deliveryCounts = ({
  attempt,
  cause,
  hasOlderTimestamp,
}: Pick<DeliveryResult, 'attempt' | 'cause' | 'hasOlderTimestamp'>): DeliveryCount[] => [
  ...(attempt ? countsOfAttempt(attempt) : []),
  ...(cause ? [`dead_lettered_${cause}` as const] : []),
  ...(hasOlderTimestamp ? ['older_timestamp' as const] : []),
];

/** The results that end a delivery. */
const totalOfKind: Partial<Record<DeliveryResult['kind'], DeliveryTotal>> = {
  delivered: 'deliveries_delivered',
  unrecorded: 'deliveries_delivered',
  dead_lettered: 'deliveries_failed',
  superseded: 'deliveries_superseded',
  cancelled: 'deliveries_cancelled',
  summarized: 'deliveries_summarized',
};

/** Returns the total that a message on the queue of a sender increments. */
export const deliveryTotal = ({ kind, isRepeated }: DeliveryResult): DeliveryTotal | undefined =>
  isRepeated ? 'deliveries_repeated' : totalOfKind[kind];
