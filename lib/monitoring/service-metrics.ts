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
import { sendsByHttp } from '../delivery.ts';

type MetricOptions = { statistic?: string; period?: Duration; label?: string };

/** The metrics that a queue consumer writes for every batch, including zeros. */
export type BatchMetric = 'internal_errors' | 'handled' | 'oldest_unprocessed_seconds';

/** Returns a metric of one queue consumer. */
export type BatchMetrics = (name: BatchMetric, options?: MetricOptions) => Metric;

/** The types delivered through SES or SNS. Metrics of AWS failures, throttling and daily limits apply only to these. */
export const awsTypes: readonly NotificationTypeId[] = notificationTypeIds.filter((type) => !sendsByHttp[type]);

/**
 * The metrics that the functions of this stack write in embedded metric format. The dimension `service` is the stack
 * name.
 */
export class ServiceMetrics {
  readonly #service: string;

  constructor(scope: Construct) {
    this.#service = Stack.of(scope).stackName;
  }

  #metric(metricName: string, dimensions: Record<string, string>, options: MetricOptions): Metric {
    return new Metric({
      namespace: METRICS_NAMESPACE,
      metricName,
      dimensionsMap: { service: this.#service, ...dimensions },
      statistic: Stats.SUM,
      ...options,
    });
  }

  /** Returns a count of a type's deliveries. */
  deliveries(
    name: MessageOutcome | DeliveryCount | BatchMetric,
    type: NotificationTypeId,
    options: MetricOptions = {},
  ): Metric {
    return this.#metric(name, { type }, options);
  }

  /**
   * Returns the sum of a count over types; missing data counts as 0.
   *
   * @param types at most ten, the CloudWatch limit for metrics in an alarm
   */
  allDeliveries(
    name: MessageOutcome | DeliveryCount,
    { period = Duration.minutes(5) }: MetricOptions = {},
    types: readonly NotificationTypeId[] = notificationTypeIds,
  ): IMetric {
    const usingMetrics = Object.fromEntries(types.map((type) => [type.toLowerCase(), this.deliveries(name, type)]));
    return new MathExpression({ expression: 'SUM(FILL(METRICS(), 0))', usingMetrics, period, label: name });
  }

  /** Returns the batch metrics of a type's sender. */
  senderBatches(type: NotificationTypeId): BatchMetrics {
    return (name, options = {}) => this.#metric(name, { type }, options);
  }

  /** Returns the batch metrics of a consumer other than a sender. */
  functionBatches(functionName: 'dispatch-alarm-events' | 'record-email-events'): BatchMetrics {
    return (name, options = {}) => this.#metric(name, { function: functionName }, options);
  }

  /** Returns the delivery latency of a type, in milliseconds. */
  deliveryLatency(type: NotificationTypeId, statistic: string): Metric {
    return this.#metric(DELIVERY_LATENCY, { type }, { statistic, label: `${type} ${statistic}` });
  }

  /** Returns the latency of dispatch, in milliseconds. */
  dispatchLatency(statistic: string): Metric {
    return this.#dispatch(DISPATCH_LATENCY, { statistic, label: `dispatch ${statistic}` });
  }

  /** Returns a count of alarm events in dispatch. */
  dispatchCount(name: 'events' | 'invalid_events' | 'unknown_notifications'): Metric {
    return this.#dispatch(name, {});
  }

  #dispatch(name: string, options: MetricOptions): Metric {
    return this.#metric(name, { function: 'dispatch-alarm-events' }, options);
  }

  /** Returns a count that has only the dimension `service`. */
  count(
    name:
      | 'unreadable_notifications'
      | 'notices_not_queued'
      | 'throttled_requests'
      | 'email_bounces'
      | 'email_complaints'
      | 'email_rejects',
    options: MetricOptions = {},
  ): Metric {
    return this.#metric(name, {}, options);
  }
}
