import { Duration, Stack, Tags } from 'aws-cdk-lib';
import { type AlarmProps, MathExpression, Metric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { FilterPattern, MetricFilter } from 'aws-cdk-lib/aws-logs';
import { Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { Universal } from 'aws-cdk-lib/aws-scheduler-targets';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import {
  DELIVERY_LATENCY,
  EVENTS_RECEIVED,
  FIRST_ATTEMPT_LATENCY,
  METRICS_NAMESPACE,
  PRODUCER_FAULTS,
} from '../../shared/domain/delivery-metrics.ts';
import { inBatches } from '../../shared/domain/in-batches.ts';
import { createScheduleRole } from '../heartbeat.ts';
import { allow } from '../resource-access.ts';
import { reservedBy, type Settings } from '../settings.ts';
import { countFailingTenants } from './failing-tenants.ts';
import type { MonitoredResources, ServiceMetrics } from './monitored-resources.ts';

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

type Alarms = Readonly<Record<string, ServiceAlarm>>;

/** An alarm reads at most this many metrics (AWS limit). */
const MAX_ALARM_METRICS = 10;

const minute = Duration.minutes(1);
const hour = Duration.hours(1);

/** The period in which a single occurrence fires an alarm. */
const SINGLE_PERIOD = Duration.minutes(5);

/** The metric period of all alarms on outages. */
const OUTAGE_PERIOD = Duration.minutes(2);

/**
 * Two of five periods of `OUTAGE_PERIOD`. SQS returns a message that crashed its function after 180 s, and Lambda
 * receives a retry up to 25 s later. Five periods, of which the newest is incomplete, always contain two receives.
 */
const FAILS_TWICE = { evaluationPeriods: 5, datapointsToAlarm: 2 };

/** Dispatching an event and delivering an alert normally take less than a second. */
const MAX_EVENT_AGE_SECONDS = 120;
/** The maximum age of first attempts and of email events. */
const MAX_AGE_SECONDS = 300;

/** Longer than brief AWS failures, which last a minute or two. */
const STUCK_SECONDS = 300;

/** First attempts normally start within a second. */
const MAX_FIRST_ATTEMPT_MS = 60_000;

/** The percentage of the account's concurrency quota that leaves time to request an increase. */
const NEAR_QUOTA_PERCENT = 80;

/**
 * The alarm needs both this percentage and this number of failed SMS in an hour. A few numbers that no longer exist are
 * not a fault of the account, and of many SMS always more than a few fail.
 */
const FAILED_SMS_PERCENT = 20;
const MIN_FAILED_SMS = 10;
/** The percentage of the monthly SMS budget at which the alarm fires. */
const SPENT_PERCENT = 80;

/** Returns the cost of SMS in a month at which the alarm fires, in USD. */
const smsSpendThreshold = ({ smsMonthlyBudgetUsd }: Settings): number => (smsMonthlyBudgetUsd * SPENT_PERCENT) / 100;

/** The number of mailboxes stopped in an hour at which the alarm fires. */
const MAX_EMAIL_STOPS = 50;

/** The alarm on destinations needs this many attempts, and failures of this many tenants. */
const MIN_ATTEMPTS = 50;
const MIN_TENANTS = 3;

/** Returns the alarms of a stack by their construct IDs. */
export const alarmsOf = (
  scope: Construct,
  settings: Settings,
  metrics: ServiceMetrics,
  resources: MonitoredResources,
): Alarms => ({
  ...queueAlarms(scope, resources),
  ...consumerAlarms(scope, metrics, resources),
  ...deliveryAlarms(scope, metrics),
  ...reportAlarms(scope, metrics, resources),
  DestinationFailures: destinationAlarm(scope, metrics, resources),
  ...missingEventsAlarm(metrics, settings),
  ...accountAlarms(settings),
  ApiErrors: apiAlarm(metrics, resources),
  ...emailAlarms(scope, metrics),
  ...smsAlarms(settings),
});

/** Returns a command of the operators' command line for the stack, to copy. */
const opsCommand = (scope: Construct, command: string): string =>
  `npm run -s ops -- ${command} --stack ${Stack.of(scope).stackName}`;

/**
 * Returns the alarms on queues whose messages wait and on the crashed queue. The age of the oldest message on the
 * queues of alarm events, of email events and of the first attempts of each type needs an alarm for every ten queues.
 */
const queueAlarms = (scope: Construct, { delivery, emailEvents }: MonitoredResources): Alarms => {
  const perMinute = { period: minute, statistic: Stats.MAXIMUM };
  const queues = [
    { id: 'events', queue: delivery.alarmEvents.queue, maxSeconds: MAX_EVENT_AGE_SECONDS },
    { id: 'emailevents', queue: emailEvents.queue.queue, maxSeconds: MAX_AGE_SECONDS },
    ...delivery.senders.map(({ type, queue: { queue } }) => ({
      id: type.toLowerCase(),
      queue,
      maxSeconds: MAX_AGE_SECONDS,
    })),
  ];
  const ageAlarms = inBatches(queues, MAX_ALARM_METRICS).map((group, index): [string, ServiceAlarm] => [
    index === 0 ? 'QueueAge' : `QueueAge${index + 1}`,
    {
      metric: new MathExpression({
        // SQS reports no metrics for an inactive queue, so missing data counts as 0.
        expression: `MAX([${group.map(({ id, maxSeconds }) => `FILL(${id}, 0) / ${maxSeconds}`).join(', ')}])`,
        usingMetrics: Object.fromEntries(
          group.map(({ id, queue }) => [id, queue.metricApproximateAgeOfOldestMessage(perMinute)]),
        ),
        period: minute,
        label: 'age of the oldest message, as a multiple of the maximum of its queue',
      }),
      // Three of four minutes: SQS reports a minute late, so an expression that fills missing data is 0 for the newest
      // minute, and three of three minutes would never breach.
      evaluationPeriods: 4,
      datapointsToAlarm: 3,
      impact: `Alerts are late: a message has waited ${MAX_EVENT_AGE_SECONDS / 60} minutes (alarm events) or ${MAX_AGE_SECONDS / 60} minutes (a type, or email events).`,
      firstStep:
        'find the queue on the dashboard, and check whether its function fails, is throttled, is too slow, or does not receive messages.',
      runbook: 'messages-wait-too-long',
    },
  ]);
  keepMetricsActive(scope, 'CrashedQueueActive', delivery.crashedQueue);
  return {
    ...Object.fromEntries(ageAlarms),
    CrashedMessages: {
      metric: delivery.crashedQueue.metricApproximateNumberOfMessagesVisible(perMinute),
      // Keeps the state: SQS stops reporting metrics for an inactive queue.
      treatMissingData: TreatMissingData.IGNORE,
      impact:
        'SQS moved a message to the crashed queue after 100 receives. Its alerts are not delivered until it is redriven.',
      firstStep: `list the messages with their source queues: ${opsCommand(scope, 'dead-letters list crashed')}.`,
      runbook: 'messages-crashed',
    },
  };
};

/** Returns the alarms on the functions that consume queues: one for each way to fail, not one for each function. */
const consumerAlarms = (
  scope: Construct,
  metrics: ServiceMetrics,
  { delivery, emailEvents, reports }: MonitoredResources,
): Alarms => ({
  InternalErrors: {
    metric: metrics.count('internal_errors', { period: OUTAGE_PERIOD }),
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
    metric: metrics.count('oldest_unprocessed_seconds', { statistic: Stats.MAXIMUM, period: OUTAGE_PERIOD }),
    threshold: STUCK_SECONDS,
    // Longer than the maximum interval of 15 minutes between receives of a failing message, so that the alarm does not
    // flap.
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

/** Returns the alarms on alerts that the service gives up, and on SES and SNS that fail. */
const deliveryAlarms = (scope: Construct, metrics: ServiceMetrics): Alarms => ({
  ServiceDeadLetters: {
    metric: metrics.count('dead_lettered_service', { period: SINGLE_PERIOD }),
    impact: 'Alerts were dead-lettered because of a failure in the service. They did not reach their destinations.',
    firstStep: `list them with their reasons: ${opsCommand(scope, 'dead-letters list')}.`,
    runbook: 'dead-letters-of-the-service',
  },
  FirstAttemptsLate: {
    metric: metrics.count(FIRST_ATTEMPT_LATENCY, { statistic: 'p99', period: Duration.minutes(5) }),
    threshold: MAX_FIRST_ATTEMPT_MS,
    evaluationPeriods: 2,
    impact: `Alerts are late: for ten minutes, the slowest percent of them has waited ${MAX_FIRST_ATTEMPT_MS / 1000} s for the first attempt. Slow destinations are not the cause.`,
    firstStep: 'trace a late alert to find whether dispatch or the sender is slow, and compare the queues.',
    runbook: 'first-attempts-are-late',
  },
  ProducerErrors: {
    metric: metrics.count(PRODUCER_FAULTS, { period: SINGLE_PERIOD }),
    impact:
      'Alarm events are invalid, or use an event ID again with different content, and are not delivered; or they are delivered although they break a rule, such as a time that is not in milliseconds.',
    firstStep: `list the dead letters (${opsCommand(scope, 'dead-letters list alarm-events')}), and search the log of dispatch for "event with warnings" and those of the senders for "event conflict".`,
    runbook: 'a-producer-sends-wrong-events',
  },
  SendingFailures: {
    metric: metrics.count('service_failures', { period: minute }),
    // An email that SES rejects because of the daily quota is retried after 60 to 72 minutes; both attempts must be in
    // the window. The period is one minute, because CloudWatch evaluates longer periods as sliding windows, which would
    // only sometimes contain two attempts.
    evaluationPeriods: 75,
    datapointsToAlarm: 2,
    impact: 'SES or SNS fails, throttles or rejects emails, SMS or messages to operators. The service retries them.',
    firstStep: 'find the type with the metric service_failures, and the reasons in the log of its sender.',
    runbook: 'ses-or-sns-fails',
  },
});

/** Returns the alarms on failures that are reported late, that the watcher of the stream does not see, and given up. */
const reportAlarms = (scope: Construct, metrics: ServiceMetrics, { reports }: MonitoredResources): Alarms => {
  const runbook = 'failures-are-not-reported';
  const perMinute = { period: minute, statistic: Stats.MAXIMUM };
  keepMetricsActive(scope, 'FailedReportsActive', reports.failedQueue);
  return {
    ReportsLate: {
      metric: new MathExpression({
        // SQS reports no metrics for an inactive queue, nor the watcher without records: missing data counts as 0.
        expression: 'MAX([FILL(queue, 0), FILL(stream, 0)])',
        usingMetrics: {
          queue: reports.queue.queue.metricApproximateAgeOfOldestMessage(perMinute),
          stream: metrics.count('oldest_record_seconds', perMinute),
        },
        period: minute,
        label: 'age in seconds of the oldest report, or of the oldest record when the watcher receives it',
      }),
      threshold: MAX_AGE_SECONDS,
      // Three of four minutes, as for the age of other queues.
      evaluationPeriods: 4,
      datapointsToAlarm: 3,
      impact: `What failed is reported late: a report, or a record of the stream, has waited ${MAX_AGE_SECONDS / 60} minutes. So are escalations. Alerts are not affected.`,
      firstStep:
        'read the errors in the logs of report-deliveries and watch-deliveries, and check whether one is throttled or receives nothing.',
      runbook,
    },
    FailuresNotSeen: {
      metric: new MathExpression({
        expression: 'IF(FILL(recorded, 0) > 0 AND FILL(seen, 0) < 1, 1, 0)',
        usingMetrics: {
          recorded: metrics.count('failures_recorded', { period: SINGLE_PERIOD }),
          seen: metrics.count('failures_seen', { period: SINGLE_PERIOD }),
        },
        period: SINGLE_PERIOD,
        label: 'senders recorded failures, and the watcher saw none',
      }),
      // A failure at the end of the first period is seen in the second one.
      evaluationPeriods: 2,
      impact:
        'For ten minutes, senders have recorded failures, and watch-deliveries has seen none: notices, escalations and outcomes wait, for at most 24 hours.',
      firstStep: `check whether the event source of the stream is enabled: ${opsCommand(scope, 'verify')}.`,
      runbook,
    },
    FailuresNotReported: {
      metric: reports.failedQueue.metricApproximateNumberOfMessagesVisible(perMinute),
      // Keeps the state: SQS stops reporting metrics for an inactive queue.
      treatMissingData: TreatMissingData.IGNORE,
      impact:
        'Records of the stream could not be reported for twelve hours and were given up: notices, escalations and outcomes are missing.',
      firstStep: 'read the errors in the log of watch-deliveries, and repeat the records within 12 hours.',
      runbook,
    },
  };
};

/**
 * Returns the alarm on failing destinations. One tenant alone never triggers it: the alarm excludes the failures of the
 * tenant with the most, and requires failures of at least three tenants.
 */
const destinationAlarm = (
  scope: Construct,
  metrics: ServiceMetrics,
  { delivery }: MonitoredResources,
): ServiceAlarm => {
  const period = Duration.minutes(15);
  const attempts = '(failures - excluded + FILL(delivered, 0))';
  return {
    metric: new MathExpression({
      expression: `IF(tenants >= ${MIN_TENANTS} AND ${attempts} >= ${MIN_ATTEMPTS}, 100 * (failures - excluded) / ${attempts}, 0)`,
      usingMetrics: {
        ...countFailingTenants(scope, delivery.senders, period),
        delivered: metrics.count(DELIVERY_LATENCY, { statistic: Stats.SAMPLE_COUNT, period }),
      },
      period,
      label: 'failed attempts without the tenant with the most failures, %',
    }),
    threshold: 50,
    evaluationPeriods: 2,
    impact: 'Most attempts fail at the destinations of several tenants. The service retries them for about 8 hours.',
    firstStep:
      'find the type with the metric destination_failures, and check by status and reason in the log of its sender whether the network or the destinations fail.',
    runbook: 'destinations-of-many-tenants-fail',
  };
};

/** Returns the alarm on a pipeline that sends no alarm events, if the setting says how often it does at least. */
const missingEventsAlarm = (metrics: ServiceMetrics, { expectedEventIntervalMinutes: minutes }: Settings): Alarms =>
  minutes === undefined
    ? {}
    : {
        MissingEvents: {
          metric: new MathExpression({
            expression: 'IF(FILL(events, 0) >= 1, 0, 1)',
            usingMetrics: { events: metrics.count(EVENTS_RECEIVED, { period: minute }) },
            // The evaluation periods last a minute each, so the longest interval is a day, the maximum of CloudWatch.
            period: minute,
            label: 'minutes without an alarm event',
          }),
          evaluationPeriods: minutes,
          // Without any event in the whole time, there is nothing to fill.
          treatMissingData: TreatMissingData.BREACHING,
          impact: `Dispatch has received no alarm event for ${minutes} minutes. If its pipeline has failed, nobody is alerted.`,
          firstStep: 'check whether the pipeline runs and is allowed to send to the queue of alarm events.',
          runbook: 'no-alarm-events',
        },
      };

/** Returns the alarms on the Lambda concurrency that all functions of the account share in a region. */
const accountAlarms = (settings: Settings): Alarms => {
  const quota = settings.lambdaConcurrencyQuota;
  const reserved = reservedBy(settings);
  // Without dimensions, the metrics cover all functions.
  const account = { namespace: 'AWS/Lambda' };
  return {
    AccountConcurrency: {
      metric: new Metric({
        ...account,
        metricName: 'ClaimedAccountConcurrency',
        statistic: Stats.MAXIMUM,
        period: minute,
      }),
      // What is reserved is always claimed.
      threshold: reserved + ((quota - reserved) * NEAR_QUOTA_PERCENT) / 100,
      evaluationPeriods: 5,
      impact: `The functions of the account use ${NEAR_QUOTA_PERCENT}% of the concurrency quota${reserved > 0 ? ' that is not reserved' : ''}. At 100% Lambda throttles ${reserved > 0 ? 'the API' : 'the API and the senders'}.`,
      firstStep:
        'find the function whose concurrency grows, in any stack of the account (metric ConcurrentExecutions by function).',
      runbook: 'concurrency-near-the-limit',
    },
    Throttles: {
      metric: new Metric({ ...account, metricName: 'Throttles', statistic: Stats.SUM, period: OUTAGE_PERIOD }),
      ...FAILS_TWICE,
      impact: 'Lambda throttles functions of the account. If it throttles a sender or dispatch, alerts are late.',
      firstStep:
        'find the function with the Lambda metric Throttles, then compare the concurrency of the account with its quota.',
      runbook: 'functions-are-throttled',
    },
  };
};

const apiAlarm = (metrics: ServiceMetrics, { api }: MonitoredResources): ServiceAlarm => {
  const options = { period: OUTAGE_PERIOD, statistic: Stats.SUM };
  return {
    metric: new MathExpression({
      // A count, because a rate would hide one failing operation among many requests. A request that DynamoDB throttles
      // for the tenant's own partition key also returns 503, but is not an outage.
      expression: 'IF(FILL(errors, 0) - FILL(throttled, 0) >= 1, 1, 0)',
      usingMetrics: {
        errors: api.httpApi.metricServerError(options),
        throttled: metrics.count('throttled_requests', options),
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

/**
 * Returns the alarm on one of SES's own rates, which cover the account and have no dimensions. SES reviews the account at
 * 5% bounces and 0.1% complaints:
 * https://docs.aws.amazon.com/ses/latest/dg/reputationdashboard-cloudwatch-alarm.html
 */
const reputationAlarm = (
  scope: Construct,
  rate: 'BounceRate' | 'ComplaintRate',
  percent: number,
  event: string,
): ServiceAlarm => ({
  metric: new Metric({
    namespace: 'AWS/SES',
    metricName: `Reputation.${rate}`,
    statistic: Stats.MAXIMUM,
    period: hour,
  }),
  threshold: percent / 100,
  // SES reports no rate while it has nothing new to count, and recommends to keep the state.
  treatMissingData: TreatMissingData.IGNORE,
  impact: `None yet. ${percent}% of the emails of the AWS account ${event}: soon SES reviews it, and can stop all its emails.`,
  firstStep: `find the tenants whose emails cause it: ${opsCommand(scope, 'tenants')}.`,
  runbook: 'bounces-or-complaints-are-frequent',
});

/** Returns the alarms on recipients whose emails are stopped, and on the reputation of the account. */
const emailAlarms = (scope: Construct, metrics: ServiceMetrics): Alarms => ({
  EmailStops: {
    metric: new MathExpression({
      // Without data, the alarm would read the hours before.
      expression: 'FILL(stops, 0)',
      usingMetrics: { stops: metrics.count('email_stops', { period: hour }) },
      period: hour,
      label: 'mailboxes whose emails were stopped',
    }),
    threshold: MAX_EMAIL_STOPS,
    impact: `In an hour, emails to ${MAX_EMAIL_STOPS} mailboxes were stopped, because they bounced or their recipients do not want them. These get no alerts by email.`,
    firstStep: `find the tenants with the most stops: ${opsCommand(scope, 'tenants')}.`,
    runbook: 'emails-to-many-mailboxes-are-stopped',
  },
  BounceRate: reputationAlarm(scope, 'BounceRate', 4, 'bounce'),
  ComplaintRate: reputationAlarm(scope, 'ComplaintRate', 0.08, 'are reported as spam'),
});

/** Returns the number of SMS to phone numbers that failed or were delivered, for the whole account. */
const smsCount = (metricName: 'NumberOfNotificationsFailed' | 'NumberOfNotificationsDelivered'): Metric =>
  new Metric({
    namespace: 'AWS/SNS',
    metricName,
    dimensionsMap: { PhoneNumber: 'PhoneNumberDirect' },
    statistic: Stats.SUM,
    period: hour,
  });

/** The account's SMS spend in the current month, in USD. */
const smsSpend = new Metric({
  namespace: 'AWS/SNS',
  metricName: 'SMSMonthToDateSpentUSD',
  statistic: Stats.MAXIMUM,
  period: hour,
});

/** Returns the alarms on SMS that SNS accepts and does not deliver, for the whole account. */
const smsAlarms = (settings: Settings): Alarms => ({
  SmsSpend: {
    metric: smsSpend,
    threshold: smsSpendThreshold(settings),
    // AWS reports this metric only when the account sends, so missing data keeps the state.
    treatMissingData: TreatMissingData.IGNORE,
    impact: `SMS have cost ${SPENT_PERCENT}% of the monthly budget of ${settings.smsMonthlyBudgetUsd} USD. SNS stops sending at the spend limit of the account.`,
    firstStep:
      'find the tenant that sends them by counting the log lines "sms accepted" of send-sms by tenant, and check smsCountries.',
    runbook: 'sms-cost-too-much',
  },
  SmsFailures: {
    metric: new MathExpression({
      expression: `IF(failed >= ${MIN_FAILED_SMS}, 100 * failed / (failed + FILL(delivered, 0)), 0)`,
      usingMetrics: {
        failed: smsCount('NumberOfNotificationsFailed'),
        delivered: smsCount('NumberOfNotificationsDelivered'),
      },
      period: hour,
      label: 'failed SMS, %',
    }),
    threshold: FAILED_SMS_PERCENT,
    impact: `In an hour, SNS accepted SMS but could not deliver ${FAILED_SMS_PERCENT}% of them, and at least ${MIN_FAILED_SMS}, to phones. The service records them as delivered.`,
    firstStep: 'read the reasons in the delivery status log of SNS, and check the spend limit.',
    runbook: 'sms-do-not-arrive',
  },
});

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
  const namespace = `${METRICS_NAMESPACE}/${Stack.of(scope).stackName}`;
  for (const [name, { logGroup }] of Object.entries(functions)) {
    new MetricFilter(filters, name, {
      logGroup,
      filterPattern: FAILED_INVOCATION,
      metricNamespace: namespace,
      metricName,
      metricValue: '1',
    });
  }
  return new Metric({ namespace, metricName, statistic: Stats.SUM, period });
};
