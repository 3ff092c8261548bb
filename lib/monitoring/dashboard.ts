import { Duration, Stack } from 'aws-cdk-lib';
import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  MathExpression,
  Metric,
  PeriodOverride,
  Stats,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { type EndpointName, endpoints } from '../../shared/contracts/endpoints.ts';
import { notificationTypeIds, notificationTypes } from '../../shared/contracts/notification-types.ts';
import {
  deliveryTotals,
  FIRST_ATTEMPT_LATENCY,
  PRODUCER_ERRORS,
  PRODUCER_WARNINGS,
} from '../../shared/domain/delivery-metrics.ts';
import type { Api } from '../api.ts';
import type { Settings } from '../settings.ts';
import {
  MAX_AGE_SECONDS,
  MAX_EVENT_AGE_SECONDS,
  MAX_FIRST_ATTEMPT_MS,
  STUCK_SECONDS,
  smsCount,
  smsSpend,
  smsSpendThreshold,
} from './alarms.ts';
import { FailingTenantsWidget } from './failing-tenants.ts';
import type { MonitoredResources, MonitoredSender } from './monitored-resources.ts';
import type { ConsumerDimension, ServiceMetrics } from './service-metrics.ts';

const WIDTH = 24;

/** The types delivered through SES or SNS. Metrics of AWS failures and daily limits apply only to these. */
const awsTypes: string[] = notificationTypeIds.filter((type) => !notificationTypes[type].sendsByHttp);

const max = { statistic: Stats.MAXIMUM };

/** Returns an SES reputation metric of the account, as a fraction of its emails (0 to 1). */
const reputation = (metricName: 'Reputation.BounceRate' | 'Reputation.ComplaintRate'): Metric =>
  new Metric({ namespace: 'AWS/SES', metricName, ...max, period: Duration.hours(1) });

/**
 * Returns whether the latency graph covers an operation. A test takes as long as its destination, up to 15 s, and a
 * redelivery as long as its messages need, so their latency does not measure the API. Administration is rare and uses
 * the same tables as the other operations.
 */
const isWatched = (name: EndpointName): boolean =>
  !['test', 'redeliver', 'administer'].includes(endpoints[name].permission);

/** Returns the highest p99 duration among the functions of the covered operations, in milliseconds. */
const slowestOperation = ({ functions }: Api): IMetric =>
  new MathExpression({
    expression: 'MAX(METRICS())',
    usingMetrics: Object.fromEntries(
      [...functions]
        .filter(([name]) => isWatched(name))
        .map(([name, lambda], index) => [`p${index}`, lambda.metricDuration({ statistic: 'p99', label: name })]),
    ),
    period: Duration.minutes(5),
    label: 'slowest operation, p99',
  });

/** The size of a graph, in units of the grid. */
const SIZE = { width: WIDTH / 3, height: 6 };

/** A value at which an alarm fires. */
type Threshold = { alarm: string; value: number };

const graph = (title: string, left: IMetric[], right: IMetric[] = [], threshold?: Threshold): GraphWidget => {
  const lines = threshold ? [{ value: threshold.value, label: threshold.alarm, color: '#d62728' }] : [];
  // The threshold is on the axis of the last metric.
  const [leftAnnotations, rightAnnotations] = right.length > 0 ? [[], lines] : [lines, []];
  return new GraphWidget({ title, left, right, ...SIZE, leftYAxis: { min: 0 }, leftAnnotations, rightAnnotations });
};

/**
 * Creates the dashboard of the stack: what is wrong on top, then rows that follow the data flow. Red lines are the
 * thresholds of alarms.
 */
export const createDashboard = (
  scope: Construct,
  settings: Settings,
  metrics: ServiceMetrics,
  { api, delivery, emailEvents, outcomes }: MonitoredResources,
  alarms: readonly Alarm[],
): Dashboard => {
  const { alarmEvents, crashedQueue, dispatch, senders } = delivery;
  const typeGraph = (
    title: string,
    metric: (sender: MonitoredSender) => Metric,
    others: Metric[] = [],
    threshold?: Threshold,
  ): GraphWidget =>
    graph(title, [...senders.map((sender) => metric(sender).with({ label: sender.type })), ...others], [], threshold);
  const counts = (name: Parameters<ServiceMetrics['deliveries']>[0], types = senders.map(({ type }) => type)) =>
    types.map((type) => metrics.deliveries(name, type));
  const consumers: { label: string; lambda: LambdaFunction; dimension: ConsumerDimension }[] = [
    { label: 'dispatch', lambda: dispatch, dimension: { function: 'dispatch-alarm-events' } },
    ...senders.map(({ type, lambda }) => ({ label: type, lambda, dimension: { type } })),
    { label: 'email events', lambda: emailEvents.recorder, dimension: { function: 'record-email-events' } },
    ...(outcomes
      ? [{ label: 'outcomes', lambda: outcomes.publisher, dimension: { function: 'publish-outcomes' } } as const]
      : []),
  ];
  const consumerGraph = (
    title: string,
    metric: (consumer: (typeof consumers)[number]) => Metric,
    others: Metric[] = [],
    threshold?: Threshold,
  ) =>
    graph(
      title,
      [...consumers.map((consumer) => metric(consumer).with({ label: consumer.label })), ...others],
      [],
      threshold,
    );
  const totals = deliveryTotals.map((name) => metrics.count(name));
  const rows: Readonly<Record<string, IWidget[]>> = {
    Overview: [
      graph('Deliveries', totals),
      graph(
        'Latency from event to first attempt, ms',
        ['p50', 'p99'].map((statistic) => metrics.count(FIRST_ATTEMPT_LATENCY, { statistic, label: statistic })),
        [],
        { alarm: 'FirstAttemptsLate', value: MAX_FIRST_ATTEMPT_MS },
      ),
      new FailingTenantsWidget(scope, SIZE.width, SIZE.height),
    ],
    API: [
      graph('Requests', [api.httpApi.metricCount()]),
      graph('Errors', [api.httpApi.metricServerError(), api.httpApi.metricClientError()]),
      graph('Latency, ms', [api.httpApi.metricLatency({ statistic: 'p99' }), slowestOperation(api)]),
    ],
    'Alarm events': [
      graph('Received', [alarmEvents.queue.metricNumberOfMessagesSent()]),
      graph('Age of the oldest message, s', [alarmEvents.queue.metricApproximateAgeOfOldestMessage(max)], [], {
        alarm: 'QueueAge',
        value: MAX_EVENT_AGE_SECONDS,
      }),
      graph('Dead-lettered', [alarmEvents.deadLetterQueue.metricApproximateNumberOfMessagesVisible(max)]),
    ],
    Dispatch: [
      graph(
        'Events not sent',
        (['unknown_notifications', 'events_without_destination', 'events_unchanged'] as const).map((name) =>
          metrics.count(name),
        ),
      ),
      consumerGraph(
        'Events that their producer got wrong',
        ({ dimension }) => metrics.batches(PRODUCER_ERRORS, dimension),
        [metrics.count(PRODUCER_WARNINGS, { label: 'dispatch, warnings' })],
      ),
    ],
    'Queue consumers': [
      consumerGraph('Internal errors', ({ dimension }) => metrics.batches('internal_errors', dimension)),
      consumerGraph(
        'Oldest unprocessed message, s',
        ({ dimension }) => metrics.batches('oldest_unprocessed_seconds', dimension, max),
        [],
        { alarm: 'MessagesAging', value: STUCK_SECONDS },
      ),
      graph('Crashed messages', [crashedQueue.metricApproximateNumberOfMessagesVisible(max)]),
      consumerGraph('Crashes and timeouts', ({ lambda }) => lambda.metricErrors()),
      consumerGraph('Throttles', ({ lambda }) => lambda.metricThrottles()),
    ],
    'Sender queues': [
      typeGraph('Visible messages', ({ queue }) => queue.queue.metricApproximateNumberOfMessagesVisible(max)),
      typeGraph(
        'Age of the oldest message, s',
        ({ queue }) => queue.queue.metricApproximateAgeOfOldestMessage(max),
        [emailEvents.queue.queue.metricApproximateAgeOfOldestMessage({ ...max, label: 'email events' })],
        { alarm: 'QueueAge', value: MAX_AGE_SECONDS },
      ),
      typeGraph('In-flight messages', ({ queue }) => queue.queue.metricApproximateNumberOfMessagesNotVisible(max)),
    ],
    'Retry queues': [
      typeGraph('Delayed', ({ queue }) => queue.retries.metricApproximateNumberOfMessagesDelayed(max)),
      typeGraph('Visible messages', ({ queue }) => queue.retries.metricApproximateNumberOfMessagesVisible(max)),
      typeGraph('Age of the oldest message, s', ({ queue }) => queue.retries.metricApproximateAgeOfOldestMessage(max)),
    ],
    Senders: [
      graph('Delivered', counts('delivered')),
      graph('Retried', counts('retried')),
      graph('Attempts failed by destinations', counts('destination_failures'), counts('delivered')),
      ...['p50', 'p99'].map((statistic) =>
        graph(
          `Latency from event to delivery, ${statistic}, ms`,
          senders.map(({ type }) => metrics.deliveryLatency(type, statistic)),
        ),
      ),
      typeGraph('Concurrency', ({ lambda }) => lambda.metric('ConcurrentExecutions', max)),
      graph('Throttled by the key of one tenant', counts('throttled_keys')),
      graph('Unreadable notifications', [metrics.count('unreadable_notifications')]),
    ],
    'Dead letters': [
      graph('Caused by the service', counts('dead_lettered_service')),
      graph('Caused by the destination', counts('dead_lettered_destination')),
      typeGraph('In dead-letter queues', ({ queue }) =>
        queue.deadLetterQueue.metricApproximateNumberOfMessagesVisible(max),
      ),
    ],
    'Email and SMS': [
      graph('Attempts failed by SES and SNS', counts('service_failures', awsTypes)),
      graph('Over a daily limit of the tenant', counts('tenant_limit_exceeded', awsTypes)),
      graph(
        'Bounces, complaints, rejects and delays, and confirmed emails',
        [
          metrics.count('email_bounces'),
          metrics.count('email_complaints'),
          metrics.count('email_rejects'),
          metrics.count('email_delays'),
        ],
        [metrics.count('email_confirmations')],
      ),
      graph(
        'SES reputation: bounce and complaint rate',
        [reputation('Reputation.BounceRate')],
        [reputation('Reputation.ComplaintRate')],
      ),
      graph(
        'SMS, and cost this month in USD',
        [smsCount('NumberOfNotificationsDelivered'), smsCount('NumberOfNotificationsFailed')],
        [smsSpend],
        { alarm: 'SmsSpend', value: smsSpendThreshold(settings) },
      ),
    ],
  };
  const { stackName, region } = Stack.of(scope);
  return new Dashboard(scope, 'Dashboard', {
    // CloudFormation would name it by its logical ID. With the region, because the dashboards of an account are global.
    dashboardName: `${stackName}-${region}`,
    periodOverride: PeriodOverride.AUTO,
    widgets: [
      [new AlarmStatusWidget({ title: 'Alarms', alarms: [...alarms], width: WIDTH, height: 4 })],
      ...Object.entries(rows).flatMap(([title, widgets]) => [
        [new TextWidget({ markdown: `## ${title}`, width: WIDTH, height: 1 })],
        widgets,
      ]),
    ],
  });
};
