import {
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  PeriodOverride,
  Stats,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import type { Api } from '../api.ts';
import type { Delivery } from '../delivery.ts';
import { slowestOperation } from './api-alarms.ts';
import { reputation, textSpend, texts } from './outlet-alarms.ts';
import type { ServiceMetrics } from './service-metrics.ts';

const WIDTH = 24;

const graph = (title: string, left: IMetric[], right: IMetric[] = []): GraphWidget =>
  new GraphWidget({ title, left, right, width: WIDTH / 3, height: 6, leftYAxis: { min: 0 } });

const heading = (text: string): TextWidget => new TextWidget({ markdown: `## ${text}`, width: WIDTH, height: 1 });

/** The stack on one page, which reads from top to bottom as the data flows. */
export const createDashboard = (scope: Construct, metrics: ServiceMetrics, api: Api, delivery: Delivery): Dashboard => {
  const { alarmEvents, dispatch, lines } = delivery;
  const max = { statistic: Stats.MAXIMUM };
  const perType = (metric: (line: Delivery['lines'][number]) => IMetric): IMetric[] => lines.map(metric);
  const counts = (name: Parameters<ServiceMetrics['deliveries']>[0]) =>
    perType(({ type }) => metrics.deliveries(name, type, {}, type));
  const rows: [title: string, ...widgets: IWidget[]][] = [
    [
      'API',
      graph('Requests', [api.httpApi.metricCount()]),
      graph('Errors', [api.httpApi.metricServerError(), api.httpApi.metricClientError()]),
      graph('Latency, ms', [api.httpApi.metricLatency({ statistic: 'p99' }), slowestOperation(api)]),
    ],
    [
      'Alarm events',
      graph('Came in', [alarmEvents.queue.metricNumberOfMessagesSent()]),
      graph('Oldest, s', [alarmEvents.queue.metricApproximateAgeOfOldestMessage(max)]),
      graph('Dead', [alarmEvents.deadLetterQueue.metricApproximateNumberOfMessagesVisible(max)]),
    ],
    [
      'Dispatch',
      graph('Events', [metrics.count('events'), metrics.count('unknown_notifications'), metrics.count('poison')]),
      graph('From event to queue, ms', [metrics.dispatchLatency('p50'), metrics.dispatchLatency('p99')]),
      graph('Errors and throttles', [dispatch.metricErrors(), dispatch.metricThrottles()]),
    ],
    [
      'Queues of the types',
      graph(
        'Waiting',
        perType(({ type, queue }) => queue.queue.metricApproximateNumberOfMessagesVisible({ ...max, label: type })),
      ),
      graph(
        'Oldest, s',
        perType(({ type, queue }) => queue.queue.metricApproximateAgeOfOldestMessage({ ...max, label: type })),
      ),
      graph(
        'In flight',
        perType(({ type, queue }) => queue.queue.metricApproximateNumberOfMessagesNotVisible({ ...max, label: type })),
      ),
    ],
    [
      'Retries of the types',
      graph(
        'Not due yet',
        perType(({ type, queue }) => queue.retries.metricApproximateNumberOfMessagesDelayed({ ...max, label: type })),
      ),
      graph(
        'Waiting',
        perType(({ type, queue }) => queue.retries.metricApproximateNumberOfMessagesVisible({ ...max, label: type })),
      ),
      graph(
        'Oldest, s',
        perType(({ type, queue }) => queue.retries.metricApproximateAgeOfOldestMessage({ ...max, label: type })),
      ),
    ],
    [
      'Senders',
      graph('Delivered', counts('delivered')),
      graph('Retried', counts('retried')),
      graph('Failures of our own', counts('internal_error')),
      graph('Attempts failed by destinations', counts('destination_failures'), counts('destination_attempts')),
      graph(
        'From queue to delivery, p50, ms',
        perType(({ type }) => metrics.deliveryLatency(type, 'p50')),
      ),
      graph(
        'From queue to delivery, p99, ms',
        perType(({ type }) => metrics.deliveryLatency(type, 'p99')),
      ),
      graph(
        'Errors and throttles',
        perType(({ type, sender }) => sender.metricErrors({ label: type })),
        perType(({ type, sender }) => sender.metricThrottles({ label: type })),
      ),
      graph(
        'Concurrency',
        perType(({ type, sender }) => sender.metric('ConcurrentExecutions', { ...max, label: type })),
      ),
      graph('Over a daily limit', counts('tenant_limit_exceeded')),
    ],
    [
      'Dead letters',
      graph('By fault of the service', counts('dead_service')),
      graph('By fault of the destination', counts('dead_destination')),
      graph(
        'Kept',
        perType(({ type, queue }) =>
          queue.deadLetterQueue.metricApproximateNumberOfMessagesVisible({ ...max, label: type }),
        ),
      ),
    ],
    [
      'Mail and texts',
      graph('Mails that came back', [
        metrics.count('mail_bounces'),
        metrics.count('mail_complaints'),
        metrics.count('mail_rejects'),
      ]),
      graph('Reputation', [reputation('Reputation.BounceRate')], [reputation('Reputation.ComplaintRate')]),
      graph(
        'Texts, and their cost this month, USD',
        [texts('NumberOfNotificationsDelivered'), texts('NumberOfNotificationsFailed')],
        [textSpend()],
      ),
    ],
  ];
  return new Dashboard(scope, 'Dashboard', {
    periodOverride: PeriodOverride.AUTO,
    widgets: rows.flatMap(([title, ...widgets]) => [[heading(title)], widgets]),
  });
};
