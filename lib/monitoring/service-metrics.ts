import { type Duration, Stack } from 'aws-cdk-lib';
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import type { MessageOutcome } from '../../shared/contracts/outcomes.ts';
import {
  type BatchFailure,
  DELIVERY_LATENCY,
  type DeliveryCount,
  type DeliveryTotal,
  type EVENTS_RECEIVED,
  type FIRST_ATTEMPT_LATENCY,
  METRICS_NAMESPACE,
  type PRODUCER_ERRORS,
  type PRODUCER_FAULTS,
  type PRODUCER_WARNINGS,
  type TotalMetric,
} from '../../shared/domain/delivery-metrics.ts';

type MetricOptions = { statistic?: string; period?: Duration; label?: string };

/** The dimension of a function that consumes a queue: the type of a sender, or the name of another function. */
export type ConsumerDimension =
  | { type: string }
  | { function: 'dispatch-alarm-events' | 'record-email-events' | 'publish-outcomes' };

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

  /** Returns a count of a type's deliveries. Delivered alerts are the values of their latency. */
  deliveries(name: MessageOutcome | DeliveryCount, type: string): Metric {
    return name === 'delivered'
      ? this.#metric(DELIVERY_LATENCY, { type }, { statistic: Stats.SAMPLE_COUNT, label: type })
      : this.#metric(name, { type }, { label: type });
  }

  /** Returns a metric of the failed batches of one queue consumer. */
  batches(
    name: BatchFailure | typeof PRODUCER_ERRORS,
    consumer: ConsumerDimension,
    options: MetricOptions = {},
  ): Metric {
    return this.#metric(name, consumer, options);
  }

  /** Returns the delivery latency of a type, in milliseconds from the acceptance of the event. */
  deliveryLatency(type: string, statistic: string): Metric {
    return this.#metric(DELIVERY_LATENCY, { type }, { statistic, label: `${type} ${statistic}` });
  }

  /** Returns a metric that has only the dimension `service`. */
  count(
    name:
      | TotalMetric
      | DeliveryTotal
      | 'unreadable_notifications'
      | 'unknown_notifications'
      | 'events_without_destination'
      | 'events_unchanged'
      | typeof EVENTS_RECEIVED
      | typeof FIRST_ATTEMPT_LATENCY
      | typeof PRODUCER_WARNINGS
      | typeof PRODUCER_FAULTS
      | 'throttled_requests'
      | 'email_bounces'
      | 'email_complaints'
      | 'email_rejects'
      | 'email_confirmations'
      | 'email_delays'
      | 'email_pauses',
    options: MetricOptions = {},
  ): Metric {
    return this.#metric(name, {}, options);
  }
}
