import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { senderName } from '../shared/environment.ts';
import type { Api } from './api.ts';
import type { Delivery } from './delivery.ts';
import type { EmailEvents } from './email-events.ts';
import { accountAlarms } from './monitoring/account-alarms.ts';
import { AlarmsTopic } from './monitoring/alarms-topic.ts';
import { apiAlarms } from './monitoring/api-alarms.ts';
import { consumerAlarms } from './monitoring/consumer-alarms.ts';
import { createDashboard } from './monitoring/dashboard.ts';
import { emailAndSmsAlarms } from './monitoring/email-and-sms-alarms.ts';
import { pipelineAlarms } from './monitoring/pipeline-alarms.ts';
import { sendingAlarms } from './monitoring/sending-alarms.ts';
import { type MakeAlarm, ServiceAlarm } from './monitoring/service-alarm.ts';
import { ServiceMetrics } from './monitoring/service-metrics.ts';
import type { Settings } from './settings.ts';

/** What is watched. */
export type Watched = { api: Api; delivery: Delivery; emailEvents: EmailEvents };

/** Watches the stack: alarms that an operator can act on, each explained in the runbook, one topic for them, and a dashboard. */
export class Monitoring extends Construct {
  /** Where the alarms go. */
  readonly topicArn: string;
  readonly dashboardName: string;

  constructor(scope: Construct, id: string, settings: Settings, { api, delivery, emailEvents }: Watched) {
    super(scope, id);
    const { alarmTarget } = settings;
    const topic = alarmTarget?.startsWith('arn:')
      ? Topic.fromTopicArn(this, 'Alarms', alarmTarget)
      : new AlarmsTopic(this, 'Alarms', alarmTarget).topic;
    const action = new SnsAction(topic);
    const alarm: MakeAlarm = (name, props) => {
      new ServiceAlarm(this, name, action, props);
    };
    const metrics = new ServiceMetrics(this);
    pipelineAlarms(this, alarm, metrics, delivery);
    consumerAlarms(alarm, [
      {
        name: 'dispatch-alarm-events',
        lambda: delivery.dispatch,
        batches: metrics.functionBatches('dispatch-alarm-events'),
      },
      ...delivery.lines.map(({ type, sender }) => ({
        name: senderName(type),
        lambda: sender,
        batches: metrics.senderBatches(type),
      })),
      {
        name: 'record-email-events',
        lambda: emailEvents.recorder,
        batches: metrics.functionBatches('record-email-events'),
      },
    ]);
    sendingAlarms(alarm, metrics);
    accountAlarms(alarm, settings);
    apiAlarms(alarm, api, metrics);
    emailAndSmsAlarms(alarm, settings);
    this.topicArn = topic.topicArn;
    this.dashboardName = createDashboard(this, metrics, { api, delivery, emailEvents }).dashboardName;
  }
}
