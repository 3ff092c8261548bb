import { Duration, Stack, Tags } from 'aws-cdk-lib';
import { type AlarmProps, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { FilterPattern, MetricFilter } from 'aws-cdk-lib/aws-logs';
import { Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { Universal } from 'aws-cdk-lib/aws-scheduler-targets';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
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
import type { EmailEvents } from '../email-events.ts';
import { createScheduleRole } from '../heartbeat.ts';
import { allow } from '../resource-access.ts';
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
  metrics: ServiceMetrics;
  resources: MonitoredResources;
};

/**
 * An actionable alarm: the impact and the first step are required. A data point at or above the threshold is breaching.
 */
export type ServiceAlarm = Pick<AlarmProps, 'metric' | 'datapointsToAlarm' | 'treatMissingData'> & {
  /** Default: 1. */
  threshold?: number;
  /** Default: 1. */
  evaluationPeriods?: number;
  /** The effect on tenants. */
  impact: string;
  /** The first step for the engineer on call. */
  firstStep: string;
  /** The anchor of a heading in docs/runbook.md. */
  runbook: string;
};

/** Alarms by their construct IDs. */
export type Alarms = Readonly<Record<string, ServiceAlarm>>;

/** An alarm reads at most this many metrics (AWS limit). */
export const MAX_ALARM_METRICS = 10;

export const minute = Duration.minutes(1);

/** The period in which a single occurrence fires an alarm. */
export const SINGLE_PERIOD = Duration.minutes(5);

/** The metric period of all alarms on outages. */
export const OUTAGE_PERIOD = Duration.minutes(2);

/**
 * Two of five periods of `OUTAGE_PERIOD`. SQS returns a message that crashed its function after 180 s, and Lambda
 * receives a retry up to 25 s later. Five periods, of which the newest is incomplete, always contain two receives.
 */
export const FAILS_TWICE = { evaluationPeriods: 5, datapointsToAlarm: 2 };

/** Returns a command of the operators' command line for the stack, to copy. */
export const opsCommand = (scope: Construct, command: string): string =>
  `npm run -s ops -- ${command} --stack ${Stack.of(scope).stackName}`;

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
    return this.#metric(metricName, {}, options);
  }

  /** Returns the number of a type's attempts, or calls of its endpoint, that failed, less the others. */
  excess(
    metricName: typeof FAILURE_EXCESS | typeof ENDPOINT_FAILURE_EXCESS,
    type: string,
    options: MetricOptions,
  ): Metric {
    return this.#metric(metricName, { type }, options);
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
}

/**
 * Keeps the CloudWatch metrics of a queue active by one API call an hour. SQS stops reporting metrics after six hours
 * without a call, and resumes up to 15 minutes after the next one, which would delay the alarm on a new message.
 * EventBridge Scheduler supports no read-only calls, so the schedule sets a tag that the queue already has.
 */
export const keepMetricsActive = (parent: Construct, id: string, queue: Queue): void => {
  const scope = new Construct(parent, id);
  const role = createScheduleRole(scope);
  const tag = 'MetricsKeptActive';
  // The template sets the same tag, so that CloudFormation detects no drift.
  Tags.of(queue).add(tag, 'true');
  const schedule = new Schedule(scope, 'Schedule', {
    description: 'Keeps the CloudWatch metrics of a queue active',
    schedule: ScheduleExpression.rate(Duration.hours(1)),
    target: new Universal({
      service: 'sqs',
      action: 'tagQueue',
      role,
      input: ScheduleTargetInput.fromObject({ QueueUrl: queue.queueUrl, Tags: { [tag]: 'true' } }),
      policyStatements: [allow(['sqs:TagQueue'], [queue.queueArn])],
    }),
  });
  schedule.node.addDependency(role);
};

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
