import { type Duration, Stack } from 'aws-cdk-lib';
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import {
  type DeliveryTotal,
  type EVENTS_RECEIVED,
  type FIRST_ATTEMPT_LATENCY,
  METRICS_NAMESPACE,
  type PRODUCER_FAULTS,
  type StreamMetric,
  type TotalMetric,
} from '../../shared/domain/delivery-metrics.ts';
import type { Api } from '../api.ts';
import type { Delivery, Sender } from '../delivery.ts';
import type { DeliveryReports } from '../delivery-reports.ts';
import type { EmailEvents } from '../email-events.ts';

/** A sender of any type. */
export type MonitoredSender = Omit<Sender, 'type'> & { type: string };

/** The constructs that the alarms and the dashboard cover. */
export type MonitoredResources = {
  api: Api;
  delivery: Pick<Delivery, 'alarmEvents' | 'dispatch' | 'crashedQueue'> & { senders: readonly MonitoredSender[] };
  emailEvents: EmailEvents;
  reports: DeliveryReports;
};

type MetricOptions = { statistic?: string; period?: Duration; label?: string };

/**
 * The metrics that the functions of this stack write in embedded metric format. The dimension `service` is the stack
 * name.
 */
export class ServiceMetrics {
  readonly #service: string;

  constructor(scope: Construct) {
    this.#service = Stack.of(scope).stackName;
  }

  /** Returns a metric that has only the dimension `service`. */
  count(
    metricName:
      | TotalMetric
      | DeliveryTotal
      | StreamMetric
      | typeof EVENTS_RECEIVED
      | typeof FIRST_ATTEMPT_LATENCY
      | typeof PRODUCER_FAULTS
      | 'email_stops'
      | 'throttled_requests',
    options: MetricOptions = {},
  ): Metric {
    return new Metric({
      namespace: METRICS_NAMESPACE,
      metricName,
      dimensionsMap: { service: this.#service },
      statistic: Stats.SUM,
      ...options,
    });
  }
}
