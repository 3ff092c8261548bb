import { Duration, Stack } from 'aws-cdk-lib';
import {
  type AlarmProps,
  MathExpression,
  Metric,
  type MetricOptions,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { FilterPattern, MetricFilter } from 'aws-cdk-lib/aws-logs';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { NotificationTypeId } from '../../shared/contracts/notification-types.ts';
import {
  type DeliveryTotal,
  type ENDPOINT_FAILURE_EXCESS,
  type EVENTS_RECEIVED,
  type FAILURE_EXCESS,
  FIRST_ATTEMPT_LATENCY,
  METRICS_NAMESPACE,
  type PRODUCER_FAULTS,
  type StreamMetric,
  type TotalMetric,
} from '../../shared/domain/delivery-metrics.ts';
import { inBatches } from '../../shared/domain/in-batches.ts';
import type { Api } from '../api.ts';
import type { Delivery } from '../delivery.ts';
import type { DeliveryReports } from '../delivery-reports.ts';
import type { EmailEvents } from '../email.ts';
import { keepMetricsActive } from '../schedules.ts';
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
const MAX_ALARM_METRICS = 10;

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

/** Dispatching an event and starting the first attempt normally take less than a second. */
const MAX_EVENT_AGE_SECONDS = 120;
const MAX_FIRST_ATTEMPT_MS = 60_000;
/** The maximum age of first attempts, of email events, and of reports of failures. */
const MAX_AGE_SECONDS = 300;
/** Longer than brief AWS failures, which last a minute or two. */
const STUCK_SECONDS = 300;

/**
 * Three of four minutes: SQS reports a minute late, so an expression that fills missing data is 0 for the newest minute,
 * and three of three minutes would never breach.
 */
const AGED = { evaluationPeriods: 4, datapointsToAlarm: 3 };

const perMinute = { period: minute, statistic: Stats.MAXIMUM };

export const serviceAlarms = (stack: Monitored): Alarms => ({
  ...queueAlarms(stack),
  ...consumerAlarms(stack),
  ...deliveryAlarms(stack),
  ...reportAlarms(stack),
  ApiErrors: apiAlarm(stack),
});

/** An alarm fires if any message is in the queue. SQS stops reporting metrics for an inactive queue: the state stays. */
const anyMessage = (scope: Construct, id: string, queue: Queue) => {
  keepMetricsActive(scope, id, queue);
  return {
    metric: queue.metricApproximateNumberOfMessagesVisible(perMinute),
    treatMissingData: TreatMissingData.IGNORE,
  };
};

/** Returns the alarms on the crashed queue, and on messages that wait: one for every ten queues. */
const queueAlarms = ({ scope, resources: { delivery, emailEvents } }: Monitored): Alarms => {
  const queues = [
    { id: 'events', queue: delivery.alarmEvents, maxSeconds: MAX_EVENT_AGE_SECONDS },
    { id: 'emailevents', queue: emailEvents.queue, maxSeconds: MAX_AGE_SECONDS },
    ...delivery.senders.map(({ type, queue }) => ({ id: type.toLowerCase(), queue, maxSeconds: MAX_AGE_SECONDS })),
  ];
  const ageAlarms = inBatches(queues, MAX_ALARM_METRICS).map((group, index): [string, ServiceAlarm] => [
    index === 0 ? 'QueueAge' : `QueueAge${index + 1}`,
    {
      metric: new MathExpression({
        // SQS reports no metrics for an inactive queue, so missing data counts as 0.
        expression: `MAX([${group.map(({ id, maxSeconds }) => `FILL(${id}, 0) / ${maxSeconds}`).join(', ')}])`,
        usingMetrics: Object.fromEntries(
          group.map(({ id, queue }) => [id, queue.queue.metricApproximateAgeOfOldestMessage(perMinute)]),
        ),
        period: minute,
        label: 'age of the oldest message, as a multiple of the maximum of its queue',
      }),
      ...AGED,
      impact: `Alerts are late: a message has waited ${MAX_EVENT_AGE_SECONDS / 60} minutes (alarm events) or ${MAX_AGE_SECONDS / 60} minutes (a type, or email events).`,
      firstStep:
        'find the queue on the dashboard, and check whether its function fails, is throttled, is too slow, or does not receive messages.',
      runbook: 'messages-wait-too-long',
    },
  ]);
  return {
    ...Object.fromEntries(ageAlarms),
    CrashedMessages: {
      ...anyMessage(scope, 'CrashedQueueActive', delivery.crashedQueue),
      impact:
        'SQS moved a message to the crashed queue after 100 receives. Its alerts are not delivered until it is redriven.',
      firstStep: `list the messages with their source queues: ${opsCommand(scope, 'dead-letters list crashed')}.`,
      runbook: 'messages-crashed',
    },
  };
};

/** Returns the alarms on the functions that consume queues: one for each way to fail, not one for each function. */
const consumerAlarms = ({ scope, metric, resources: { delivery, emailEvents, reports } }: Monitored): Alarms => ({
  InternalErrors: {
    metric: metric('internal_errors', { period: OUTAGE_PERIOD }),
    // Three periods, because the newest is incomplete. A failing message is at first received every 90 s or less, so
    // it appears in the other two; `MessagesAging` covers longer intervals.
    evaluationPeriods: 3,
    datapointsToAlarm: 2,
    impact:
      'A function cannot process messages because DynamoDB or SQS fails or throttles. Alerts are late; none is lost.',
    firstStep: 'find the function or type with the metric internal_errors, and read the errors in its log group.',
    runbook: 'internal-errors',
  },
  MessagesAging: {
    metric: metric('oldest_unprocessed_seconds', { statistic: Stats.MAXIMUM, period: OUTAGE_PERIOD }),
    threshold: STUCK_SECONDS,
    // Longer than the 15 minutes between receives of a failing message, so that the alarm does not flap.
    evaluationPeriods: 9,
    datapointsToAlarm: 1,
    impact: `A message has failed for ${STUCK_SECONDS / 60} minutes, or retries of several tenants are received ${STUCK_SECONDS / 60} minutes too late. Alerts are late; none is lost.`,
    firstStep:
      'find the function or type with the metric oldest_unprocessed_seconds, and the error in its log group; without errors, see the retry queues.',
    runbook: 'messages-are-not-processed',
  },
  FunctionErrors: {
    metric: countFunctionErrors(scope, OUTAGE_PERIOD, {
      'dispatch-alarm-events': delivery.dispatch,
      ...Object.fromEntries(delivery.senders.map(({ type, lambda }) => [`send-${type}`, lambda])),
      'record-email-events': emailEvents.recorder,
      'watch-deliveries': reports.watcher,
      'report-deliveries': reports.reporter,
    }),
    ...FAILS_TWICE,
    impact:
      'A function crashes or times out. Its messages are late, and SQS moves them to the crashed queue after 5 hours.',
    firstStep: 'find the function with the Lambda metric Errors, and read the errors in its log group.',
    runbook: 'a-function-fails',
  },
});

const deliveryAlarms = ({ scope, metric }: Monitored): Alarms => ({
  ServiceDeadLetters: {
    metric: metric('dead_lettered_service', { period: SINGLE_PERIOD }),
    impact: 'Alerts were dead-lettered because of a failure in the service. They did not reach their destinations.',
    firstStep: `list them with their reasons: ${opsCommand(scope, 'dead-letters list')}.`,
    runbook: 'dead-letters-of-the-service',
  },
  FirstAttemptsLate: {
    metric: metric(FIRST_ATTEMPT_LATENCY, { statistic: 'p99', period: Duration.minutes(5) }),
    threshold: MAX_FIRST_ATTEMPT_MS,
    evaluationPeriods: 2,
    impact: `Alerts are late: for ten minutes, the slowest percent of them has waited ${MAX_FIRST_ATTEMPT_MS / 1000} s for the first attempt. Slow destinations are not the cause.`,
    firstStep: 'trace a late alert to find whether dispatch or the sender is slow, and compare the queues.',
    runbook: 'first-attempts-are-late',
  },
});

const reportAlarms = ({ scope, metric, resources: { reports } }: Monitored): Alarms => {
  const runbook = 'failures-are-not-reported';
  return {
    ReportsLate: {
      metric: new MathExpression({
        // SQS reports no metrics for an inactive queue, nor the watcher without records: missing data counts as 0.
        expression: 'MAX([FILL(queue, 0), FILL(stream, 0)])',
        usingMetrics: {
          queue: reports.queue.queue.metricApproximateAgeOfOldestMessage(perMinute),
          stream: metric('oldest_record_seconds', perMinute),
        },
        period: minute,
        label: 'age in seconds of the oldest report, or of the oldest record when the watcher receives it',
      }),
      threshold: MAX_AGE_SECONDS,
      ...AGED,
      impact: `What failed is reported late: a report, or a record of the stream, has waited ${MAX_AGE_SECONDS / 60} minutes. So are escalations. Alerts are not affected.`,
      firstStep:
        'read the errors in the logs of report-deliveries and watch-deliveries, and check whether one is throttled or receives nothing.',
      runbook,
    },
    FailuresNotSeen: {
      // Above 0 if only senders emit it. A failure at the end of the first period is seen in the second one.
      metric: metric('failures_unseen', { statistic: Stats.MINIMUM, period: SINGLE_PERIOD }),
      evaluationPeriods: 2,
      impact:
        'For ten minutes, senders have recorded failures, and watch-deliveries has seen none: notices, escalations and outcomes wait, for at most 24 hours.',
      firstStep: `check whether the event source of the stream is enabled: ${opsCommand(scope, 'verify')}.`,
      runbook,
    },
    FailuresNotReported: {
      ...anyMessage(scope, 'FailedReportsActive', reports.failedQueue),
      impact:
        'Records of the stream could not be reported for twelve hours and were given up: notices, escalations and outcomes are missing.',
      firstStep: 'read the errors in the log of watch-deliveries, and repeat the records within 12 hours.',
      runbook,
    },
  };
};

const apiAlarm = ({ metric, resources: { api } }: Monitored): ServiceAlarm => {
  const options = { period: OUTAGE_PERIOD, statistic: Stats.SUM };
  return {
    metric: new MathExpression({
      // A count, because a rate would hide one failing operation among many requests. A request that DynamoDB throttles
      // for the tenant's own partition key also returns 503, but is not an outage.
      expression: 'IF(FILL(errors, 0) - FILL(throttled, 0) >= 1, 1, 0)',
      usingMetrics: {
        errors: api.httpApi.metricServerError(options),
        throttled: metric('throttled_requests', options),
      },
      period: OUTAGE_PERIOD,
      label: '5xx responses',
    }),
    // Three periods, because the newest is incomplete.
    evaluationPeriods: 3,
    datapointsToAlarm: 2,
    impact:
      'The API returns 500 or 503: clients cannot manage or test their notifications. Alerts are still delivered.',
    firstStep: 'find the route and the status in the access log, and the error in the log of its function.',
    runbook: 'the-api-returns-5xx',
  };
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
const countFunctionErrors = (
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
