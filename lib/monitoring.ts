import { Stack } from 'aws-cdk-lib';
import {
  Alarm,
  AlarmStatusWidget,
  ComparisonOperator,
  Dashboard,
  GraphWidget,
  type IMetric,
  PeriodOverride,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { deliveryTotals, FIRST_ATTEMPT_LATENCY } from '../shared/domain/delivery-metrics.ts';
import { accountAlarms } from './monitoring/account-alarms.ts';
import { type Monitored, type MonitoredResources, metricsOf, serviceAlarms } from './monitoring/alarms.ts';
import { externalAlarms, FailingTenantsWidget } from './monitoring/external-alarms.ts';
import type { Settings } from './settings.ts';
import { createAlarmsTopic } from './topics.ts';

/**
 * The monitoring of the stack: actionable alarms with runbook sections, their topic, and a dashboard
 * (docs/decisions/monitoring.md#alarms). The alarms notify on ALARM and on OK.
 */
export class Monitoring extends Construct {
  readonly topicArn: string;
  readonly dashboardName: string;

  constructor(scope: Construct, id: string, settings: Settings, resources: MonitoredResources, topicKey: IKey) {
    super(scope, id);
    const { alarmTarget, runbookUrl = 'docs/runbook.md' } = settings;
    const topic = alarmTarget?.startsWith('arn:')
      ? Topic.fromTopicArn(this, 'Alarms', alarmTarget)
      : createAlarmsTopic(this, topicKey, alarmTarget);
    const action = new SnsAction(topic);
    const stack: Monitored = { scope: this, settings, metric: metricsOf(this), resources };
    const definitions = { ...serviceAlarms(stack), ...externalAlarms(stack), ...accountAlarms(stack) };
    const alarms = Object.entries(definitions).map(([name, { impact, firstStep, runbook, ...props }]) => {
      const alarm = new Alarm(new Construct(this, name), 'Alarm', {
        threshold: 1,
        evaluationPeriods: 1,
        comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        treatMissingData: TreatMissingData.NOT_BREACHING,
        ...props,
        alarmDescription: `${impact} First step: ${firstStep} ${runbookUrl}#${runbook}`,
      });
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
      return alarm;
    });
    this.topicArn = topic.topicArn;
    this.dashboardName = createDashboard(stack, alarms).dashboardName;
  }
}

/** In units of the grid of a dashboard. */
const WIDTH = 24;
const SIZE = { width: WIDTH / 3, height: 6 };

const graph = (title: string, left: IMetric[]): GraphWidget =>
  new GraphWidget({ title, left, ...SIZE, leftYAxis: { min: 0 } });

const createDashboard = ({ scope, metric, resources }: Monitored, alarms: Alarm[]): Dashboard => {
  const { delivery, emailEvents, reports } = resources;
  const { alarmEvents, crashedQueue, senders } = delivery;
  const ofTypes = (kind: 'queue' | 'retries' | 'deadLetterQueue') =>
    senders.map(({ type, queue }) => ({ label: type, queue: queue[kind] }));
  const queues = [
    { label: 'alarm events', queue: alarmEvents.queue },
    ...ofTypes('queue'),
    { label: 'email events', queue: emailEvents.queue.queue },
    { label: 'delivery reports', queue: reports.queue.queue },
  ];
  const deadLetterQueues = [
    { label: 'alarm events', queue: alarmEvents.deadLetterQueue },
    ...ofTypes('deadLetterQueue'),
    { label: 'crashed', queue: crashedQueue },
    { label: 'records of the stream', queue: reports.failedQueue },
  ];
  const statistic = Stats.MAXIMUM;
  const visible = (of: typeof queues) =>
    of.map(({ label, queue }) => queue.metricApproximateNumberOfMessagesVisible({ statistic, label }));
  const ages = (of: typeof queues) =>
    of.map(({ label, queue }) => queue.metricApproximateAgeOfOldestMessage({ statistic, label }));
  const { stackName, region } = Stack.of(scope);
  return new Dashboard(scope, 'Dashboard', {
    // CloudFormation would name it by its logical ID. With the region, because the dashboards of an account are global.
    dashboardName: `${stackName}-${region}`,
    periodOverride: PeriodOverride.AUTO,
    widgets: [
      [new AlarmStatusWidget({ title: 'Alarms', alarms, width: WIDTH, height: 4 })],
      [
        graph(
          'Deliveries',
          deliveryTotals.map((name) => metric(name)),
        ),
        graph(
          'Latency from event to first attempt, ms',
          ['p50', 'p99'].map((statistic) => metric(FIRST_ATTEMPT_LATENCY, { statistic, label: statistic })),
        ),
        new FailingTenantsWidget(scope, SIZE.width, SIZE.height),
      ],
      [
        graph('Visible messages', visible(queues)),
        graph('Age of the oldest message, s', ages(queues)),
        graph('Age of the oldest retry, s', ages(ofTypes('retries'))),
        graph('Dead letters', visible(deadLetterQueues)),
      ],
    ],
  });
};
