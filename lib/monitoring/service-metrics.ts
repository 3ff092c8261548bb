import { Duration, Stack } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import { type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import type { MessageOutcome } from '../../shared/contracts/outcomes.ts';
import {
  DELIVERY_LATENCY,
  type DeliveryCount,
  DISPATCH_LATENCY,
  METRICS_NAMESPACE,
} from '../../shared/domain/delivery-metrics.ts';
import { dialsUrls } from '../delivery.ts';

/** How long a period of a metric is, which of its statistics, and how a graph names it: by the metric unless set. */
type Reading = { statistic?: string; period?: Duration; label?: string };

/** What a consumer of a queue writes for every batch, zeros included. */
export type BatchMetric = 'internal_errors' | 'handled' | 'oldest_unprocessed_seconds';

/** The metrics of one consumer of a queue. */
export type BatchMetrics = (name: BatchMetric, reading?: Reading) => Metric;

/** The types whose messages SES or SNS delivers: the only ones that these services can fail, throttle or limit. */
export const awsTypes: readonly NotificationTypeId[] = notificationTypeIds.filter((type) => !dialsUrls[type]);

/** The metrics that the functions of this stack write (EMF); another stack's have another `service`. */
export class ServiceMetrics {
  readonly #service: string;

  constructor(scope: Construct) {
    this.#service = Stack.of(scope).stackName;
  }

  #metric(metricName: string, dimensions: Record<string, string>, reading: Reading): Metric {
    return new Metric({
      namespace: METRICS_NAMESPACE,
      metricName,
      dimensionsMap: { service: this.#service, ...dimensions },
      statistic: Stats.SUM,
      ...reading,
    });
  }

  /** A count of a type's deliveries. */
  deliveries(
    name: MessageOutcome | DeliveryCount | BatchMetric,
    type: NotificationTypeId,
    reading: Reading = {},
  ): Metric {
    return this.#metric(name, { type }, reading);
  }

  /**
   * The sum of a count over types, 0 where nothing was counted.
   *
   * @param types at most ten: CloudWatch takes no more metrics in an alarm
   */
  allDeliveries(
    name: MessageOutcome | DeliveryCount,
    { period = Duration.minutes(5) }: Reading = {},
    types: readonly NotificationTypeId[] = notificationTypeIds,
  ): IMetric {
    const usingMetrics = Object.fromEntries(types.map((type) => [type.toLowerCase(), this.deliveries(name, type)]));
    return new MathExpression({ expression: 'SUM(FILL(METRICS(), 0))', usingMetrics, period, label: name });
  }

  /** What the sender of a type writes for every batch. */
  senderBatches(type: NotificationTypeId): BatchMetrics {
    return (name, reading = {}) => this.#metric(name, { type }, reading);
  }

  /** What a consumer that is no sender writes for every batch. */
  functionBatches(functionName: 'dispatch-alarm-events' | 'record-email-events'): BatchMetrics {
    return (name, reading = {}) => this.#metric(name, { function: functionName }, reading);
  }

  /** How long deliveries of a type take, ms. */
  deliveryLatency(type: NotificationTypeId, statistic: string): Metric {
    return this.#metric(DELIVERY_LATENCY, { type }, { statistic, label: `${type} ${statistic}` });
  }

  /** How long the dispatch takes, ms. */
  dispatchLatency(statistic: string): Metric {
    return this.#dispatch(DISPATCH_LATENCY, { statistic, label: `dispatch ${statistic}` });
  }

  /** What the dispatch counts of events. */
  dispatchCount(name: 'events' | 'invalid_events' | 'unknown_notifications'): Metric {
    return this.#dispatch(name, {});
  }

  #dispatch(name: string, reading: Reading): Metric {
    return this.#metric(name, { function: 'dispatch-alarm-events' }, reading);
  }

  /** What is counted of the whole stack. */
  count(
    name: 'unreadable_notifications' | 'throttled_requests' | 'email_bounces' | 'email_complaints' | 'email_rejects',
    reading: Reading = {},
  ): Metric {
    return this.#metric(name, {}, reading);
  }
}
