import { Duration, Stack } from 'aws-cdk-lib';
import { type AlarmProps, Metric, type MetricOptions, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { FilterPattern, MetricFilter } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';
import {
  type DeliveryTotal,
  type ENDPOINT_FAILURE_EXCESS,
  type EVENTS_RECEIVED,
  type FAILURE_EXCESS,
  type FIRST_ATTEMPT_LATENCY,
  METRICS_NAMESPACE,
  type PRODUCER_FAULTS,
  type StreamMetric,
  type TotalMetric,
} from '../../shared/domain/delivery-metrics.ts';
import type { Api } from '../api.ts';
import type { Delivery } from '../delivery.ts';
import type { DeliveryReports } from '../delivery-reports.ts';
import type { EmailEvents } from '../email.ts';
import type { Settings } from '../settings.ts';

/** The constructs that the alarms and the dashboard cover. */
export type MonitoredResources = {
  api: Api;
  delivery: Pick<Delivery, 'alarmEvents' | 'dispatch' | 'crashedQueue' | 'senders'>;
  emailEvents: EmailEvents;
  reports: DeliveryReports;
};

/** What alarms are created from. `scope` gets what they need besides. */
export type Monitored = {
  scope: Construct;
  settings: Settings;
  metric: ReturnType<typeof metricsOf>;
  resources: MonitoredResources;
};

/** A data point at or above the threshold is breaching. `threshold` and `evaluationPeriods` are 1 by default. */
export type ServiceAlarm = Pick<AlarmProps, 'metric' | 'datapointsToAlarm' | 'treatMissingData'> & {
  threshold?: number;
  evaluationPeriods?: number;
  /** The effect on tenants. */
  impact: string;
  firstStep: string;
  /** The anchor of a heading in docs/runbook.md. */
  runbook: string;
};

/** By their construct IDs. */
export type Alarms = Readonly<Record<string, ServiceAlarm>>;

/** The most metrics that an alarm reads (AWS limit). */
export const MAX_ALARM_METRICS = 10;

export const minute = Duration.minutes(1);

/** The period in which a single occurrence fires an alarm. */
export const SINGLE_PERIOD = Duration.minutes(5);

export const OUTAGE_PERIOD = Duration.minutes(2);

/**
 * Two of five periods of `OUTAGE_PERIOD`. SQS returns a message that crashed its function after 180 s, and Lambda
 * receives a retry up to 25 s later. Five periods, of which the newest is incomplete, always contain two receives.
 */
export const FAILS_TWICE = { evaluationPeriods: 5, datapointsToAlarm: 2 };

/** Returns a command of the operators' command line for the stack, to copy. */
export const opsCommand = (scope: Construct, command: string): string =>
  `npm run -s ops -- ${command} --stack ${Stack.of(scope).stackName}`;

/** `type` selects the metric of one type, where there is one. */
type ServiceMetricOptions = Pick<MetricOptions, 'statistic' | 'period' | 'label'> & { type?: NotificationTypeId };

type MetricName =
  | TotalMetric
  | DeliveryTotal
  | StreamMetric
  | typeof ENDPOINT_FAILURE_EXCESS
  | typeof EVENTS_RECEIVED
  | typeof FAILURE_EXCESS
  | typeof FIRST_ATTEMPT_LATENCY
  | typeof PRODUCER_FAULTS
  | 'email_stops'
  | 'throttled_requests';

/** The metrics that the functions of the stack write in embedded metric format. */
export const metricsOf =
  (scope: Construct) =>
  (metricName: MetricName, { type, ...options }: ServiceMetricOptions = {}): Metric =>
    new Metric({
      namespace: METRICS_NAMESPACE,
      metricName,
      dimensionsMap: { service: Stack.of(scope).stackName, ...(type && { type }) },
      statistic: Stats.SUM,
      ...options,
    });

/** A failed invocation, as Lambda logs it in JSON: the function threw, crashed or timed out. */
const FAILED_INVOCATION = FilterPattern.all(
  FilterPattern.stringValue('$.type', '=', 'platform.report'),
  FilterPattern.stringValue('$.record.status', '!=', 'success'),
);

/**
 * Counts the failed invocations of several functions in one metric, from their logs, and returns it. The metric
 * `Errors` of Lambda has the same numbers for a single function or for the whole account only.
 */
export const countFunctionErrors = (
  scope: Construct,
  period: Duration,
  functions: Readonly<Record<string, LambdaFunction>>,
): Metric => {
  const filters = new Construct(scope, 'FunctionErrorCount');
  const metricName = 'function_errors';
  // Dimensions of a metric filter are fields of the log line, and no field is the name of the stack.
  const metricNamespace = `${METRICS_NAMESPACE}/${Stack.of(scope).stackName}`;
  for (const [name, { logGroup }] of Object.entries(functions)) {
    new MetricFilter(filters, name, {
      logGroup,
      filterPattern: FAILED_INVOCATION,
      metricNamespace,
      metricName,
      metricValue: '1',
    });
  }
  return new Metric({ namespace: metricNamespace, metricName, statistic: Stats.SUM, period });
};
