import { Stack } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { alarmsOf } from './monitoring/alarms.ts';
import { createDashboard } from './monitoring/dashboard.ts';
import { type MonitoredResources, ServiceMetrics } from './monitoring/monitored-stack.ts';
import type { Settings } from './settings.ts';

/**
 * The monitoring of the stack: actionable alarms with runbook sections, their topic, and a dashboard
 * (docs/decisions/monitoring.md#alarms). The alarms notify on ALARM and on OK.
 */
export class Monitoring extends Construct {
  /** The topic of the alarms. */
  readonly topicArn: string;
  readonly dashboardName: string;

  /** @param topicKey encrypts the topic of the alarms */
  constructor(scope: Construct, id: string, settings: Settings, resources: MonitoredResources, topicKey: IKey) {
    super(scope, id);
    const { alarmTarget, runbookUrl = 'docs/runbook.md' } = settings;
    const topic = alarmTarget?.startsWith('arn:')
      ? Topic.fromTopicArn(this, 'Alarms', alarmTarget)
      : createAlarmsTopic(this, 'Alarms', topicKey, alarmTarget);
    const action = new SnsAction(topic);
    const metrics = new ServiceMetrics(this);
    const definitions = Object.entries(alarmsOf({ scope: this, settings, metrics, resources }));
    const alarms = definitions.map(([name, { impact, firstStep, runbook, ...props }]) => {
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
    this.dashboardName = createDashboard(this, metrics, resources, alarms).dashboardName;
  }
}

/**
 * Creates the SNS topic of the stack's alarms.
 *
 * @param email an address to subscribe, which must confirm the subscription
 */
export const createAlarmsTopic = (
  parent: Construct,
  id: string,
  masterKey: IKey,
  email: string | undefined,
): ITopic => {
  const scope = new Construct(parent, id);
  const cloudWatch = new ServicePrincipal('cloudwatch.amazonaws.com', {
    conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } },
  });
  const topic = new Topic(scope, 'Topic', { masterKey, enforceSSL: true });
  // Also allows it to use the key.
  topic.grants.publish(cloudWatch);
  if (email !== undefined) topic.addSubscription(new EmailSubscription(email));
  return topic;
};
