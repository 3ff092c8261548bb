import { Duration, Stack } from 'aws-cdk-lib';
import {
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  Metric,
  PeriodOverride,
  Stats,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import { deliveryTotals, PRODUCER_ERRORS, PRODUCER_WARNINGS } from '../../shared/domain/delivery-metrics.ts';
import { slowestOperation } from './api-alarms.ts';
import type { MonitoredResources, MonitoredSender } from './monitored-resources.ts';
import { awsTypes, type ServiceMetrics } from './service-metrics.ts';
import { smsCount, smsSpend } from './sms-alarms.ts';

const WIDTH = 24;

/** Returns an SES reputation metric of the account, as a fraction of its emails (0 to 1). */
const reputation = (metricName: 'Reputation.BounceRate' | 'Reputation.ComplaintRate'): Metric =>
  new Metric({ namespace: 'AWS/SES', metricName, statistic: Stats.MAXIMUM, period: Duration.hours(1) });

const graph = (title: string, left: IMetric[], right: IMetric[] = []): GraphWidget =>
  new GraphWidget({ title, left, right, width: WIDTH / 3, height: 6, leftYAxis: { min: 0 } });

const heading = (text: string): TextWidget => new TextWidget({ markdown: `## ${text}`, width: WIDTH, height: 1 });

/** Creates the dashboard of the stack. Its rows follow the data flow from top to bottom. */
export const createDashboard = (
  scope: Construct,
  metrics: ServiceMetrics,
  { api, delivery, emailEvents }: MonitoredResources,
): Dashboard => {
  const { alarmEvents, crashedQueue, dispatch, senders } = delivery;
  const max = { statistic: Stats.MAXIMUM };
  const perType = (metric: (sender: MonitoredSender) => IMetric): IMetric[] => senders.map(metric);
  const counts = (
    name: Parameters<ServiceMetrics['deliveries']>[0],
    types: readonly string[] = senders.map(({ type }) => type),
  ) => types.map((type) => metrics.deliveries(name, type, { label: type }));
  const consumers = [
    { label: 'dispatch', lambda: dispatch, batches: metrics.functionBatches('dispatch-alarm-events') },
    ...senders.map(({ type, lambda }) => ({ label: type, lambda, batches: metrics.senderBatches(type) })),
    { label: 'email events', lambda: emailEvents.recorder, batches: metrics.functionBatches('record-email-events') },
  ];
  const rows: [title: string, ...widgets: IWidget[]][] = [
    [
      'API',
      graph('Requests', [api.httpApi.metricCount()]),
      graph('Errors', [api.httpApi.metricServerError(), api.httpApi.metricClientError()]),
      graph('Latency, ms', [api.httpApi.metricLatency({ statistic: 'p99' }), slowestOperation(api)]),
    ],
    [
      'Alarm events',
      graph('Received', [alarmEvents.queue.metricNumberOfMessagesSent()]),
      graph('Age of the oldest message, s', [alarmEvents.queue.metricApproximateAgeOfOldestMessage(max)]),
      graph('Dead-lettered', [alarmEvents.deadLetterQueue.metricApproximateNumberOfMessagesVisible(max)]),
    ],
    [
      'Dispatch',
      graph('Events', [metrics.count('unknown_notifications'), metrics.count('events_without_destination')]),
      graph(
        'Deliveries',
        deliveryTotals.map((name) => metrics.count(name)),
      ),
      graph('Events that their producer got wrong', [
        ...consumers.map(({ label, batches }) => batches(PRODUCER_ERRORS, { label })),
        metrics.count(PRODUCER_WARNINGS, { label: 'dispatch, warnings' }),
      ]),
    ],
    [
      'Queue consumers',
      graph(
        'Internal errors',
        consumers.map(({ label, batches }) => batches('internal_errors', { label })),
      ),
      graph(
        'Oldest unprocessed message, s',
        consumers.map(({ label, batches }) => batches('oldest_unprocessed_seconds', { ...max, label })),
      ),
      graph('Crashed messages', [crashedQueue.metricApproximateNumberOfMessagesVisible(max)]),
      graph(
        'Crashes and timeouts',
        consumers.map(({ label, lambda }) => lambda.metricErrors({ label })),
      ),
      graph(
        'Throttles',
        consumers.map(({ label, lambda }) => lambda.metricThrottles({ label })),
      ),
    ],
    [
      'Sender queues',
      graph(
        'Visible messages',
        perType(({ type, queue }) => queue.queue.metricApproximateNumberOfMessagesVisible({ ...max, label: type })),
      ),
      graph('Age of the oldest message, s', [
        ...perType(({ type, queue }) => queue.queue.metricApproximateAgeOfOldestMessage({ ...max, label: type })),
        emailEvents.queue.queue.metricApproximateAgeOfOldestMessage({ ...max, label: 'email events' }),
      ]),
      graph(
        'In-flight messages',
        perType(({ type, queue }) => queue.queue.metricApproximateNumberOfMessagesNotVisible({ ...max, label: type })),
      ),
    ],
    [
      'Retry queues',
      graph(
        'Delayed',
        perType(({ type, queue }) => queue.retries.metricApproximateNumberOfMessagesDelayed({ ...max, label: type })),
      ),
      graph(
        'Visible messages',
        perType(({ type, queue }) => queue.retries.metricApproximateNumberOfMessagesVisible({ ...max, label: type })),
      ),
      graph(
        'Age of the oldest message, s',
        perType(({ type, queue }) => queue.retries.metricApproximateAgeOfOldestMessage({ ...max, label: type })),
      ),
    ],
    [
      'Senders',
      graph('Delivered', counts('delivered')),
      graph('Retried', counts('retried')),
      graph('Attempts failed by destinations', counts('destination_failures'), counts('delivered')),
      graph(
        'Latency from event to delivery, p50, ms',
        perType(({ type }) => metrics.deliveryLatency(type, 'p50')),
      ),
      graph(
        'Latency from event to delivery, p99, ms',
        perType(({ type }) => metrics.deliveryLatency(type, 'p99')),
      ),
      graph(
        'Concurrency',
        perType(({ type, lambda }) => lambda.metric('ConcurrentExecutions', { ...max, label: type })),
      ),
      graph('Throttled by the key of one tenant', counts('throttled_keys')),
      graph('Unreadable notifications', [metrics.count('unreadable_notifications')]),
    ],
    [
      'Dead letters',
      graph('Caused by the service', counts('dead_lettered_service')),
      graph('Caused by the destination', counts('dead_lettered_destination')),
      graph(
        'In dead-letter queues',
        perType(({ type, queue }) =>
          queue.deadLetterQueue.metricApproximateNumberOfMessagesVisible({ ...max, label: type }),
        ),
      ),
    ],
    [
      'Email and SMS',
      graph('Attempts failed by SES and SNS', counts('service_failures', awsTypes)),
      graph('Over a daily limit of the tenant', counts('tenant_limit_exceeded', awsTypes)),
      graph('Bounces, complaints and rejects', [
        metrics.count('email_bounces'),
        metrics.count('email_complaints'),
        metrics.count('email_rejects'),
      ]),
      graph(
        'SES reputation: bounce and complaint rate',
        [reputation('Reputation.BounceRate')],
        [reputation('Reputation.ComplaintRate')],
      ),
      graph(
        'SMS, and cost this month in USD',
        [smsCount('NumberOfNotificationsDelivered'), smsCount('NumberOfNotificationsFailed')],
        [smsSpend()],
      ),
    ],
  ];
  const { stackName, region } = Stack.of(scope);
  return new Dashboard(scope, 'Dashboard', {
    // CloudFormation would name it by its logical ID. With the region, because the dashboards of an account are global.
    dashboardName: `${stackName}-${region}`,
    periodOverride: PeriodOverride.AUTO,
    widgets: rows.flatMap(([title, ...widgets]) => [[heading(title)], widgets]),
  });
};
