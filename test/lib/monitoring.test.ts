import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { functionNames } from '../../lib/bundles.ts';
import { reservedBy } from '../../lib/concurrency.ts';
import { parseSettings } from '../../lib/settings.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { propertiesOf, reference, synthesize } from '../support/stack.ts';

const alarmSchema = z.looseObject({
  Threshold: z.number(),
  EvaluationPeriods: z.number(),
  DatapointsToAlarm: z.number().optional(),
  ComparisonOperator: z.string(),
  TreatMissingData: z.string(),
  Metrics: z.array(z.looseObject({ Expression: z.unknown().optional() })).optional(),
});

const { template, functionIds } = synthesize();
const alarms = propertiesOf(template, 'AWS::CloudWatch::Alarm', alarmSchema);

/** The functions that consume a queue. */
const consumerNames = functionNames.filter((name) => /^(dispatch|send|record)-/.test(name));

/** Returns the properties of the alarm with this construct ID. */
const alarm = (name: string, candidates = alarms) => {
  const [match, ...others] = [...candidates].filter(([id]) =>
    new RegExp(`^Monitoring${name}Alarm[0-9A-F]{8}$`).test(id),
  );
  expect(others).toEqual([]);
  if (!match) throw new Error(`No alarm ${name}.`);
  return match[1];
};

describe('alarms', () => {
  it('cover the age of the oldest message on every queue for first attempts', () => {
    const ages = [...alarms].filter(([id]) => /^MonitoringQueueAge/.test(id));
    const queues = JSON.stringify(ages).match(/"(Delivery|EmailEvents)\w*Queue[0-9A-F]{8}","QueueName"/g);
    expect(new Set(queues).size).toBe(notificationTypeIds.length + 2);
  });

  it('count crashes and timeouts in the log of every consumer', () => {
    const filters = propertiesOf(template, 'AWS::Logs::MetricFilter', z.object({ LogGroupName: reference }));
    const functions = propertiesOf(
      template,
      'AWS::Lambda::Function',
      z.object({ LoggingConfig: z.object({ LogGroup: reference }) }),
    );
    const groups = consumerNames.map((name) => functions.get(functionIds.get(name) ?? '')?.LoggingConfig.LogGroup);
    expect([...filters.values()].map(({ LogGroupName }) => LogGroupName).toSorted()).toEqual(groups.toSorted());
  });

  it('fire on a single dead letter of the service, or error of a producer', () => {
    for (const name of ['ServiceDeadLetters', 'ProducerErrors']) {
      expect(alarm(name)).toMatchObject({ Threshold: 1, EvaluationPeriods: 1, Statistic: 'Sum' });
    }
  });

  it('count tenants from sender logs, not from a metric dimension', () => {
    const rules = propertiesOf(template, 'AWS::CloudWatch::InsightRule', z.object({ RuleBody: z.unknown() }));
    expect(rules.size).toBe(1);
    const body = JSON.stringify([...rules.values()]);
    expect(body).toContain('$.tenant_id');
    expect(body.match(/"Ref":"Deliverysend\w+Logs/g)).toHaveLength(notificationTypeIds.length);
    for (const properties of alarms.values()) expect(JSON.stringify(properties)).not.toContain('"Name":"tenant');
  });

  it('treat missing data as not breaching, except if only a new value can clear the alarm', () => {
    const ignoring = [...alarms].filter(([, { TreatMissingData }]) => TreatMissingData !== 'notBreaching');
    const names = ignoring.map(([id, { TreatMissingData }]) => [
      id.replace(/^Monitoring|Alarm\w{8}$/g, ''),
      TreatMissingData,
    ]);
    expect(names.toSorted()).toEqual(['CrashedMessages', 'SmsSpend'].map((name) => [name, 'ignore']).toSorted());
  });

  it('use the SMS budget and the concurrency quota in the settings', () => {
    const { template: other } = synthesize({ smsMonthlyBudgetUsd: '50', lambdaConcurrencyQuota: '2000' });
    const others = propertiesOf(other, 'AWS::CloudWatch::Alarm', alarmSchema);
    expect(alarm('SmsSpend', others).Threshold).toBe(40);
    expect(alarm('SmsSpend').Threshold).toBe(0.8);
    expect(alarm('AccountConcurrency', others).Threshold).toBe(1_600);
    const { template: reserving } = synthesize({ reserveConcurrency: true, lambdaConcurrencyQuota: '2000' });
    const reserved = reservedBy(parseSettings({ reserveConcurrency: true }));
    expect(alarm('AccountConcurrency', propertiesOf(reserving, 'AWS::CloudWatch::Alarm', alarmSchema)).Threshold).toBe(
      reserved + 0.8 * (2_000 - reserved),
    );
  });

  it('cover missing events only with the setting, minute by minute for up to a day', () => {
    const missing = (minutes: number) => {
      const { template: other } = synthesize({ expectedEventIntervalMinutes: minutes });
      return alarm('MissingEvents', propertiesOf(other, 'AWS::CloudWatch::Alarm', alarmSchema));
    };
    expect(() => alarm('MissingEvents')).toThrow();
    expect(missing(5)).toMatchObject({ EvaluationPeriods: 5, TreatMissingData: 'breaching' });
    const { EvaluationPeriods, Metrics } = missing(1_440);
    expect(Metrics).toContainEqual(
      expect.objectContaining({ MetricStat: expect.objectContaining({ Period: 86_400 / EvaluationPeriods }) }),
    );
  });
});

describe('a development stage', () => {
  it('has no monitoring', () => {
    const { template: development } = synthesize({ developmentStage: true });
    const types = ['CloudWatch::Alarm', 'CloudWatch::Dashboard', 'CloudWatch::InsightRule', 'KMS::Key'];
    for (const type of [...types, 'Logs::MetricFilter']) {
      development.resourceCountIs(`AWS::${type}`, 0);
    }
    const outputs = Object.keys(development.findOutputs('*'));
    expect(Object.keys(template.findOutputs('*')).filter((name) => !outputs.includes(name))).toEqual([
      'AlarmsTopicArn',
      'Dashboard',
    ]);
  });
});

describe('email events', () => {
  it('go from SES through a topic to the queue as they are, or else to the crashed queue', () => {
    template.hasResourceProperties('AWS::SES::ConfigurationSetEventDestination', {
      ConfigurationSetName: { Ref: 'EmailConfigurationSet6A762543' },
      EventDestination: {
        Enabled: true,
        MatchingEventTypes: ['delivery', 'deliveryDelay', 'bounce', 'complaint', 'reject'],
        SnsDestination: { TopicARN: { Ref: 'EmailEventsTopic34ABBF2C' } },
      },
    });
    template.hasResourceProperties('AWS::SNS::Subscription', {
      TopicArn: { Ref: 'EmailEventsTopic34ABBF2C' },
      Protocol: 'sqs',
      Endpoint: { 'Fn::GetAtt': [Match.stringLikeRegexp('^EmailEventsQueue'), 'Arn'] },
      RawMessageDelivery: true,
      RedrivePolicy: { deadLetterTargetArn: { 'Fn::GetAtt': [Match.stringLikeRegexp('^CrashedQueue'), 'Arn'] } },
    });
  });
});
