import { Duration, Stack } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import type { Verdict } from '../../shared/adapters/sender/message.ts';
import { type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import {
  DELIVERY_LATENCY,
  type DeliveryCount,
  DISPATCH_LATENCY,
  METRICS_NAMESPACE,
} from '../../shared/domain/delivery-metrics.ts';

/** How long a period of a metric is, and which of its statistics. */
type Reading = { statistic?: string; period?: Duration };

/** The metrics that the functions of this stack write (EMF); another stack's have another `service`. */
export class ServiceMetrics {
  readonly #service: string;

  constructor(scope: Construct) {
    this.#service = Stack.of(scope).stackName;
  }

  #metric(metricName: string, dimensions: Record<string, string>, reading: Reading, label = metricName): Metric {
    return new Metric({
      namespace: METRICS_NAMESPACE,
      metricName,
      dimensionsMap: { service: this.#service, ...dimensions },
      statistic: Stats.SUM,
      label,
      ...reading,
    });
  }

  /** What was counted of a type's deliveries. */
  deliveries(
    name: Verdict | DeliveryCount,
    type: NotificationTypeId,
    reading: Reading = {},
    label: string = name,
  ): Metric {
    return this.#metric(name, { type }, reading, label);
  }

  /** The same over all types: one that nothing was counted of is 0. An alarm takes ten metrics, so ten types, at most. */
  allDeliveries(name: Verdict | DeliveryCount, { period = Duration.minutes(5) }: Reading = {}): IMetric {
    const usingMetrics = Object.fromEntries(
      notificationTypeIds.map((type) => [type.toLowerCase(), this.deliveries(name, type)]),
    );
    return new MathExpression({ expression: 'SUM(FILL(METRICS(), 0))', usingMetrics, period, label: name });
  }

  /** How long deliveries of a type take, ms. */
  deliveryLatency(type: NotificationTypeId, statistic: string): Metric {
    return this.#metric(DELIVERY_LATENCY, { type }, { statistic }, `${type} ${statistic}`);
  }

  /** How long the dispatch takes, ms. */
  dispatchLatency(statistic: string): Metric {
    return this.#metric(DISPATCH_LATENCY, {}, { statistic }, `dispatch ${statistic}`);
  }

  /** What is counted without a type: by the dispatch, and of mails. */
  count(
    name: 'events' | 'poison' | 'unknown_notifications' | 'mail_bounces' | 'mail_complaints' | 'mail_rejects',
  ): Metric {
    return this.#metric(name, {}, {});
  }
}
