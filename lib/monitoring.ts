import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { reservedBy } from './concurrency.ts';
import { accountAlarms } from './monitoring/account-alarms.ts';
import { AlarmsTopic } from './monitoring/alarms-topic.ts';
import { apiAlarms } from './monitoring/api-alarms.ts';
import { consumerAlarms } from './monitoring/consumer-alarms.ts';
import { createDashboard } from './monitoring/dashboard.ts';
import { deliveryAlarms } from './monitoring/delivery-alarms.ts';
import { missingEventsAlarm } from './monitoring/missing-events-alarm.ts';
import type { MonitoredResources } from './monitoring/monitored-resources.ts';
import { queueAlarms } from './monitoring/queue-alarms.ts';
import { type AddAlarm, ServiceAlarm } from './monitoring/service-alarm.ts';
import { ServiceMetrics } from './monitoring/service-metrics.ts';
import { smsAlarms } from './monitoring/sms-alarms.ts';
import type { Settings } from './settings.ts';

/**
 * The monitoring of the stack: actionable alarms with runbook sections, their topic, and a dashboard
 * (docs/decisions/monitoring.md#alarms).
 */
export class Monitoring extends Construct {
  /** The topic of the alarms. */
  readonly topicArn: string;
  readonly dashboardName: string;

  constructor(scope: Construct, id: string, settings: Settings, { api, delivery, emailEvents }: MonitoredResources) {
    super(scope, id);
    const { alarmTarget } = settings;
    const topic = alarmTarget?.startsWith('arn:')
      ? Topic.fromTopicArn(this, 'Alarms', alarmTarget)
      : new AlarmsTopic(this, 'Alarms', alarmTarget).topic;
    const action = new SnsAction(topic);
    const addAlarm: AddAlarm = (name, props) => {
      new ServiceAlarm(this, name, action, props);
    };
    const metrics = new ServiceMetrics(this);
    queueAlarms(this, addAlarm, { delivery, emailEvents });
    consumerAlarms(this, addAlarm, metrics, [
      { name: 'dispatch-alarm-events', lambda: delivery.dispatch },
      ...delivery.senders.map(({ type, lambda }) => ({ name: `send-${type}`, lambda })),
      { name: 'record-email-events', lambda: emailEvents.recorder },
    ]);
    deliveryAlarms(this, addAlarm, metrics, delivery.senders);
    missingEventsAlarm(addAlarm, metrics, settings);
    accountAlarms(addAlarm, settings.lambdaConcurrencyQuota, reservedBy(settings));
    apiAlarms(addAlarm, api, metrics);
    smsAlarms(addAlarm, settings);
    this.topicArn = topic.topicArn;
    this.dashboardName = createDashboard(this, metrics, { api, delivery, emailEvents }).dashboardName;
  }
}
