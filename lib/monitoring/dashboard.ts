import { Stack } from 'aws-cdk-lib';
import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
  PeriodOverride,
  Stats,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { deliveryTotals, FIRST_ATTEMPT_LATENCY } from '../../shared/domain/delivery-metrics.ts';
import { FailingTenantsWidget } from './external-alarms.ts';
import type { MonitoredResources, ServiceMetrics } from './monitored-stack.ts';

/** The width of the grid. */
const WIDTH = 24;
/** The size of a graph, in units of the grid. */
const SIZE = { width: WIDTH / 3, height: 6 };

const graph = (title: string, left: IMetric[]): GraphWidget =>
  new GraphWidget({ title, left, ...SIZE, leftYAxis: { min: 0 } });

/** Creates the dashboard of the stack: alarms, deliveries, latency, failing tenants and queues. */
export const createDashboard = (
  scope: Construct,
  metrics: ServiceMetrics,
  { delivery, emailEvents, reports }: MonitoredResources,
  alarms: readonly Alarm[],
): Dashboard => {
  const { alarmEvents, crashedQueue, senders } = delivery;
  const ofTypes = (queueOf: (sender: (typeof senders)[number]) => Queue) =>
    senders.map((sender) => ({ label: sender.type, queue: queueOf(sender) }));
  const queues = [
    { label: 'alarm events', queue: alarmEvents.queue },
    ...ofTypes(({ queue }) => queue.queue),
    { label: 'email events', queue: emailEvents.queue.queue },
    { label: 'delivery reports', queue: reports.queue.queue },
  ];
  const retryQueues = ofTypes(({ queue }) => queue.retries);
  const deadLetterQueues = [
    { label: 'alarm events', queue: alarmEvents.deadLetterQueue },
    ...ofTypes(({ queue }) => queue.deadLetterQueue),
    { label: 'crashed', queue: crashedQueue },
    { label: 'records of the stream', queue: reports.failedQueue },
  ];
  const max = { statistic: Stats.MAXIMUM };
  const visible = (of: typeof queues) =>
    of.map(({ label, queue }) => queue.metricApproximateNumberOfMessagesVisible({ ...max, label }));
  const ages = (of: typeof queues) =>
    of.map(({ label, queue }) => queue.metricApproximateAgeOfOldestMessage({ ...max, label }));
  const { stackName, region } = Stack.of(scope);
  return new Dashboard(scope, 'Dashboard', {
    // CloudFormation would name it by its logical ID. With the region, because the dashboards of an account are global.
    dashboardName: `${stackName}-${region}`,
    periodOverride: PeriodOverride.AUTO,
    widgets: [
      [new AlarmStatusWidget({ title: 'Alarms', alarms: [...alarms], width: WIDTH, height: 4 })],
      [
        graph(
          'Deliveries',
          deliveryTotals.map((name) => metrics.count(name)),
        ),
        graph(
          'Latency from event to first attempt, ms',
          ['p50', 'p99'].map((statistic) => metrics.count(FIRST_ATTEMPT_LATENCY, { statistic, label: statistic })),
        ),
        new FailingTenantsWidget(scope, SIZE.width, SIZE.height),
      ],
      [
        graph('Visible messages', visible(queues)),
        graph('Age of the oldest message, s', ages(queues)),
        graph('Age of the oldest retry, s', ages(retryQueues)),
        graph('Dead letters', visible(deadLetterQueues)),
      ],
    ],
  });
};
