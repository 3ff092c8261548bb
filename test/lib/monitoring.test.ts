import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { functionNames } from '../../lib/bundles.ts';
import { awsTypes } from '../../lib/monitoring/service-metrics.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { propertiesOf, synthesize } from '../support/stack.ts';

const alarmSchema = z.looseObject({
  Threshold: z.number(),
  EvaluationPeriods: z.number(),
  DatapointsToAlarm: z.number().optional(),
  ComparisonOperator: z.string(),
  TreatMissingData: z.string(),
  Metrics: z.array(z.looseObject({ Expression: z.unknown().optional() })).optional(),
});

const { template } = synthesize();
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
  it('have at most 10 metrics each, the limit of CloudWatch', () => {
    for (const [id, { Metrics = [] }] of alarms) {
      expect(Metrics.filter(({ MetricStat }) => MetricStat !== undefined).length, id).toBeLessThanOrEqual(10);
    }
  });

  it('cover the queue of alarm events', () => {
    expect(alarm('InFlightalarmevents')).toMatchObject({
      MetricName: 'ApproximateNumberOfMessagesNotVisible',
      Threshold: 60_000,
      Statistic: 'Maximum',
    });
    expect(alarm('QueueAgealarmevents')).toMatchObject({ MetricName: 'ApproximateAgeOfOldestMessage', Threshold: 120 });
  });

  it.each(notificationTypeIds)('cover the queue and the retry queue of a type together: %s', (type) => {
    const sources = (metrics: unknown) =>
      [...JSON.stringify(metrics).matchAll(/"Delivery\w+?(Queue|Retries)[0-9A-F]{8}","QueueName"/g)].map(
        ([, queue]) => queue,
      );
    const { Metrics: ages = [], Threshold: oldest } = alarm(`QueueAge${type}`);
    // SQS delays a retry for up to 900 s.
    expect([ages[0]?.Expression, oldest]).toEqual(['MAX([FILL(first, 0), FILL(retries, 0) - 900])', 300]);
    expect(JSON.stringify(ages).match(/"ApproximateAgeOfOldestMessage"/g)).toHaveLength(2);
    expect(sources(ages)).toEqual(['Queue', 'Retries']);
    const { Metrics: inFlight = [], Threshold: many } = alarm(`InFlight${type}`);
    expect([inFlight[0]?.Expression, many]).toEqual(['MAX([FILL(first, 0), FILL(retries, 0)])', 60_000]);
    expect(JSON.stringify(inFlight).match(/"ApproximateNumberOfMessagesNotVisible"/g)).toHaveLength(2);
    expect(sources(inFlight)).toEqual(['Queue', 'Retries']);
  });

  it('tolerate late SQS metrics in expressions that fill missing data', () => {
    for (const [id, { Metrics = [], EvaluationPeriods, DatapointsToAlarm = EvaluationPeriods }] of alarms) {
      const isFilled = Metrics.some(({ Expression }) => JSON.stringify(Expression ?? '').includes('FILL'));
      const isPerMinute = JSON.stringify(Metrics).includes('"Period":60');
      if (isFilled && isPerMinute) expect([id, EvaluationPeriods > DatapointsToAlarm]).toEqual([id, true]);
    }
  });

  it.each(consumerNames)(
    'cover errors, throttles, internal errors and aging messages of every consumer: %s',
    (name) => {
      const stem = name.replaceAll('-', '');
      expect(alarm(`Errors${stem}`)).toMatchObject({ Namespace: 'AWS/Lambda', MetricName: 'Errors', Period: 120 });
      expect(alarm(`Throttles${stem}`)).toMatchObject({
        Namespace: 'AWS/Lambda',
        MetricName: 'Throttles',
        Period: 120,
      });
      expect(alarm(`MessagesAging${stem}`)).toMatchObject({
        MetricName: 'oldest_unprocessed_seconds',
        Statistic: 'Maximum',
        Threshold: 300,
      });
      const { Metrics = [], ...internalErrors } = alarm(`InternalErrors${stem}`);
      expect(JSON.stringify(Metrics)).toMatch(/"internal_errors".*"handled"/);
      expect(internalErrors).toMatchObject({
        EvaluationPeriods: 3,
        DatapointsToAlarm: 2,
        TreatMissingData: 'notBreaching',
      });
    },
  );

  it('on outages need two breaching periods of at most two minutes', () => {
    const outageAlarms = [...alarms].filter(([id]) =>
      /^Monitoring(InternalErrors|Errors|Throttles|SendingFailures|ApiErrors)/.test(id),
    );
    expect(outageAlarms).toHaveLength(3 * consumerNames.length + awsTypes.length + 1);
    for (const [, { EvaluationPeriods, DatapointsToAlarm = EvaluationPeriods, ...rest }] of outageAlarms) {
      expect(JSON.stringify(rest)).toMatch(/"Period":(60|120)\b/);
      expect(DatapointsToAlarm).toBe(2);
    }
  });

  it('fire on a single crashed message without delay, because a schedule keeps the metrics of the queue active', () => {
    const queueName = { 'Fn::GetAtt': [expect.stringMatching(/^CrashedQueue/), 'QueueName'] };
    expect(alarm('CrashedMessages')).toMatchObject({
      MetricName: 'ApproximateNumberOfMessagesVisible',
      Dimensions: [{ Name: 'QueueName', Value: queueName }],
      Threshold: 1,
      EvaluationPeriods: 1,
      TreatMissingData: 'ignore',
    });
    template.hasResourceProperties('AWS::Scheduler::Schedule', {
      ScheduleExpression: 'rate(1 hour)',
      Target: {
        Input: {
          'Fn::Join': ['', ['{"QueueUrl":"', { Ref: Match.stringLikeRegexp('^CrashedQueue') }, Match.anyValue()]],
        },
      },
    });
    template.hasResourceProperties('AWS::SQS::Queue', { Tags: [{ Key: 'MetricsKeptActive', Value: 'true' }] });
  });

  it('fire on a single dead letter caused by the service, and on a single dead-lettered alarm event', () => {
    const { Metrics = [], Threshold } = alarm('ServiceDeadLetters');
    expect(Threshold).toBe(1);
    expect(JSON.stringify(Metrics).match(/"dead_lettered_service"/g)?.length).toBeGreaterThanOrEqual(
      notificationTypeIds.length,
    );
    expect(alarm('AlarmEventsDeadLettered')).toMatchObject({
      MetricName: 'ApproximateNumberOfMessagesVisible',
      Dimensions: [
        { Name: 'QueueName', Value: { 'Fn::GetAtt': ['DeliveryAlarmEventsDeadLettersE737AA73', 'QueueName'] } },
      ],
      Threshold: 1,
    });
  });

  it.each([
    ['EventConflicts', 'conflict', notificationTypeIds],
    ['SendingMisconfigured', 'misconfigured', awsTypes],
    ['AwsQuotaExceeded', 'aws_quota_exceeded', awsTypes],
    ['TenantLimitExceeded', 'tenant_limit_exceeded', awsTypes],
  ] as const)('sum a count over the types that report it: %s', (name, metric, types) => {
    const { Metrics = [] } = alarm(name);
    expect(Metrics[0]?.Expression).toBe('SUM(FILL(METRICS(), 0))');
    const metricNames = Metrics.flatMap((query) => JSON.stringify(query).match(/"MetricName":"(\w+)"/)?.[1] ?? []);
    expect(metricNames).toEqual(types.map(() => metric));
  });

  it.each(notificationTypeIds)('on destinations exclude the tenant with the most failures: %s', (type) => {
    const { Metrics = [], Threshold, TreatMissingData } = alarm(`DestinationFailures${type}`);
    expect(Metrics[0]?.Expression).toBe(
      'IF(tenants >= 3 AND attempts - excluded >= 50, 100 * (failures - excluded) / (attempts - excluded), 0)',
    );
    expect({ Threshold, TreatMissingData }).toEqual({ Threshold: 50, TreatMissingData: 'notBreaching' });
    expect(JSON.stringify(Metrics)).toMatch(/UniqueContributors.*MaxContributorValue/);
  });

  it('count tenants from sender logs, not from a metric dimension', () => {
    const rules = propertiesOf(template, 'AWS::CloudWatch::InsightRule', z.object({ RuleBody: z.unknown() }));
    expect(rules.size).toBe(notificationTypeIds.length);
    for (const { RuleBody } of rules.values()) expect(JSON.stringify(RuleBody)).toContain('$.tenant_id');
    for (const properties of alarms.values()) expect(JSON.stringify(properties)).not.toContain('"Name":"tenant');
  });

  it('treat missing data as not breaching, except if only a new value can clear the alarm', () => {
    const ignoring = [...alarms].filter(([, { TreatMissingData }]) => TreatMissingData !== 'notBreaching');
    const names = ignoring.map(([id, { TreatMissingData }]) => [
      id.replace(/^Monitoring|Alarm\w{8}$/g, ''),
      TreatMissingData,
    ]);
    expect(names.toSorted()).toEqual(
      ['AlarmEventsDeadLettered', 'CrashedMessages', 'EmailBounces', 'EmailComplaints', 'SmsSpend']
        .map((name) => [name, 'ignore'])
        .toSorted(),
    );
  });

  it('use the SMS budget and the concurrency quota in the settings', () => {
    const { template: other } = synthesize({ smsMonthlyBudgetUsd: '50', lambdaConcurrencyQuota: '2000' });
    const others = propertiesOf(other, 'AWS::CloudWatch::Alarm', alarmSchema);
    expect(alarm('SmsSpend', others).Threshold).toBe(40);
    expect(alarm('SmsSpend').Threshold).toBe(0.8);
    expect(alarm('AccountConcurrency', others).Threshold).toBe(1_600);
  });

  it('cover only this stack, whose name is a metric dimension', () => {
    const { Metrics = [] } = alarm('ServiceDeadLetters');
    expect(JSON.stringify(Metrics)).toContain('{"Name":"service","Value":"MonitoringNotifications"}');
    const variables = z.looseObject({ POWERTOOLS_SERVICE_NAME: z.literal('MonitoringNotifications') });
    const functions = z.object({ Environment: z.object({ Variables: variables }) });
    expect(propertiesOf(template, 'AWS::Lambda::Function', functions).size).toBe(functionNames.length);
  });

  it('exclude test operations from API latency', () => {
    expect(JSON.stringify(alarm('ApiLatency'))).not.toMatch(/Apitest/);
  });
});

describe('the dashboard', () => {
  const [dashboard] = propertiesOf(
    template,
    'AWS::CloudWatch::Dashboard',
    z.object({ DashboardBody: z.object({ 'Fn::Join': z.tuple([z.literal(''), z.array(z.unknown())]) }) }),
  ).values();
  const body = dashboard?.DashboardBody['Fn::Join'][1].map((part) => (typeof part === 'string' ? part : 'X')).join('');

  it('has rows in the order of the data flow', () => {
    const { widgets } = z
      .object({
        widgets: z.array(z.object({ y: z.number(), properties: z.looseObject({ markdown: z.string().optional() }) })),
      })
      .parse(JSON.parse(body ?? ''));
    const headings = widgets.toSorted((a, b) => a.y - b.y).flatMap(({ properties }) => properties.markdown ?? []);
    expect(headings).toEqual([
      '## API',
      '## Alarm events',
      '## Dispatch',
      '## Queue consumers',
      '## Sender queues',
      '## Retry queues',
      '## Senders',
      '## Dead letters',
      '## Email and SMS',
    ]);
  });
});

describe('email events', () => {
  it('reach the queue only from SES and only for emails of this stack', () => {
    template.hasResourceProperties('AWS::SES::ConfigurationSetEventDestination', {
      EventDestination: { MatchingEventTypes: ['bounce', 'complaint', 'reject'], Enabled: true },
    });
    template.hasResourceProperties('AWS::Events::Rule', {
      EventPattern: {
        source: ['aws.ses'],
        detail: { mail: { tags: { 'ses:configuration-set': [{ Ref: 'EmailConfigurationSet6A762543' }] } } },
      },
    });
  });
});
