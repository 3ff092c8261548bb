import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { functionNames } from '../../lib/bundles.ts';
import { awsTypes } from '../../lib/monitoring/service-metrics.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { propertiesOf, synthesized } from '../support/stack.ts';

const alarmSchema = z.looseObject({
  Threshold: z.number(),
  EvaluationPeriods: z.number(),
  DatapointsToAlarm: z.number().optional(),
  ComparisonOperator: z.string(),
  TreatMissingData: z.string(),
  Metrics: z.array(z.looseObject({ Expression: z.unknown().optional() })).optional(),
});

const { template } = synthesized();
const alarms = propertiesOf(template, 'AWS::CloudWatch::Alarm', alarmSchema);

/** The functions that consume a queue. */
const consumerNames = functionNames.filter((name) => /^(dispatch|send|record)-/.test(name));

/** The alarm of this name, under whatever hash. */
const alarm = (name: string, from = alarms) => {
  const [found, ...others] = [...from].filter(([id]) => new RegExp(`^Monitoring${name}Alarm[0-9A-F]{8}$`).test(id));
  expect(others).toEqual([]);
  if (!found) throw new Error(`There is no alarm ${name}.`);
  return found[1];
};

describe('the alarms', () => {
  it('watch the queue of alarm events', () => {
    expect(alarm('InFlightalarmevents')).toMatchObject({
      MetricName: 'ApproximateNumberOfMessagesNotVisible',
      Threshold: 60_000,
      Statistic: 'Maximum',
    });
    expect(alarm('QueueAgealarmevents')).toMatchObject({ MetricName: 'ApproximateAgeOfOldestMessage', Threshold: 120 });
  });

  it.each(notificationTypeIds)('watch the queue of a type and that of its retries together: %s', (type) => {
    const sources = (metrics: unknown) =>
      [...JSON.stringify(metrics).matchAll(/"Delivery\w+?(Queue|Retries)[0-9A-F]{8}","QueueName"/g)].map(
        ([, queue]) => queue,
      );
    const { Metrics: ages = [], Threshold: oldest } = alarm(`QueueAge${type}`);
    // A retry waits on its queue for up to 900 s by design.
    expect([ages[0]?.Expression, oldest]).toEqual(['MAX([FILL(first, 0), FILL(retries, 0) - 900])', 300]);
    expect(JSON.stringify(ages).match(/"ApproximateAgeOfOldestMessage"/g)).toHaveLength(2);
    expect(sources(ages)).toEqual(['Queue', 'Retries']);
    const { Metrics: inFlight = [], Threshold: many } = alarm(`InFlight${type}`);
    expect([inFlight[0]?.Expression, many]).toEqual(['MAX([FILL(first, 0), FILL(retries, 0)])', 60_000]);
    expect(JSON.stringify(inFlight).match(/"ApproximateNumberOfMessagesNotVisible"/g)).toHaveLength(2);
    expect(sources(inFlight)).toEqual(['Queue', 'Retries']);
  });

  it('tolerate that SQS reports a minute late, in every expression that fills what is missing', () => {
    for (const [id, { Metrics = [], EvaluationPeriods, DatapointsToAlarm = EvaluationPeriods }] of alarms) {
      const isFilled = Metrics.some(({ Expression }) => JSON.stringify(Expression ?? '').includes('FILL'));
      const isPerMinute = JSON.stringify(Metrics).includes('"Period":60');
      if (isFilled && isPerMinute) expect([id, EvaluationPeriods > DatapointsToAlarm]).toEqual([id, true]);
    }
  });

  it.each(consumerNames)('watch every consumer of a queue in the same four ways: %s', (name) => {
    const stem = name.replaceAll('-', '');
    expect(alarm(`Errors${stem}`)).toMatchObject({ Namespace: 'AWS/Lambda', MetricName: 'Errors', Period: 120 });
    expect(alarm(`Throttles${stem}`)).toMatchObject({ Namespace: 'AWS/Lambda', MetricName: 'Throttles', Period: 120 });
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
  });

  it('watch an outage in periods of at most two minutes, two of them', () => {
    const outage = [...alarms].filter(([id]) =>
      /^Monitoring(InternalErrors|Errors|Throttles|SendingFailures|ApiErrors)/.test(id),
    );
    expect(outage).toHaveLength(3 * consumerNames.length + awsTypes.length + 1);
    for (const [, { EvaluationPeriods, DatapointsToAlarm = EvaluationPeriods, ...rest }] of outage) {
      expect(JSON.stringify(rest)).toMatch(/"Period":(60|120)\b/);
      expect(DatapointsToAlarm).toBe(2);
    }
  });

  it('fire at one message that SQS moved, and know it at once: the metrics of its queue are kept active', () => {
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

  it('fire at one dead letter of the service, of whatever type, and at one alarm event', () => {
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
    ['NoticesNotQueued', 'notices_not_queued', notificationTypeIds],
    ['SendingMisconfigured', 'misconfigured', awsTypes],
    ['AwsQuotaExceeded', 'aws_quota_exceeded', awsTypes],
    ['TenantLimitExceeded', 'tenant_limit_exceeded', awsTypes],
  ] as const)('add up what the senders count, of no more types than can count it: %s', (name, metric, types) => {
    const { Metrics = [] } = alarm(name);
    expect(Metrics[0]?.Expression).toBe('SUM(FILL(METRICS(), 0))');
    const watched = Metrics.flatMap((one) => JSON.stringify(one).match(/"MetricName":"(\w+)"/)?.[1] ?? []);
    expect(watched).toEqual(types.map(() => metric));
  });

  it.each(notificationTypeIds)('leave out the failures of the tenant that has most of them: %s', (type) => {
    const { Metrics = [], Threshold, TreatMissingData } = alarm(`DestinationFailures${type}`);
    expect(Metrics[0]?.Expression).toBe(
      'IF(tenants >= 3 AND attempts - excluded >= 50, 100 * (failures - excluded) / (attempts - excluded), 0)',
    );
    expect({ Threshold, TreatMissingData }).toEqual({ Threshold: 50, TreatMissingData: 'notBreaching' });
    expect(JSON.stringify(Metrics)).toMatch(/UniqueContributors.*MaxContributorValue/);
  });

  it('get tenants from the logs of the senders, and from no metric', () => {
    const rules = propertiesOf(template, 'AWS::CloudWatch::InsightRule', z.object({ RuleBody: z.unknown() }));
    expect(rules.size).toBe(notificationTypeIds.length);
    for (const { RuleBody } of rules.values()) expect(JSON.stringify(RuleBody)).toContain('$.tenant_id');
    for (const found of alarms.values()) expect(JSON.stringify(found)).not.toContain('"Name":"tenant');
  });

  it('take no data for no problem, except where only a new value can tell that a problem is over', () => {
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

  it('follow the settings for money and concurrency', () => {
    const { template: other } = synthesized({ smsMonthlyBudgetUsd: '50', lambdaConcurrencyQuota: '2000' });
    const others = propertiesOf(other, 'AWS::CloudWatch::Alarm', alarmSchema);
    expect(alarm('SmsSpend', others).Threshold).toBe(40);
    expect(alarm('SmsSpend').Threshold).toBe(0.8);
    expect(alarm('AccountConcurrency', others).Threshold).toBe(1_600);
  });

  it('count what this stack did, and no other stack of the account: its name is a dimension', () => {
    const { Metrics = [] } = alarm('ServiceDeadLetters');
    expect(JSON.stringify(Metrics)).toContain('{"Name":"service","Value":"MonitoringNotifications"}');
    const variables = z.looseObject({ POWERTOOLS_SERVICE_NAME: z.literal('MonitoringNotifications') });
    const functions = z.object({ Environment: z.object({ Variables: variables }) });
    expect(propertiesOf(template, 'AWS::Lambda::Function', functions).size).toBe(functionNames.length);
  });

  it('leave tests of destinations out of the latency: those take as long as the destination', () => {
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

  it('reads from top to bottom as the data flows', () => {
    const { widgets } = z
      .object({
        widgets: z.array(z.object({ y: z.number(), properties: z.looseObject({ markdown: z.string().optional() }) })),
      })
      .parse(JSON.parse(body ?? ''));
    const headings = widgets
      .toSorted((one, other) => one.y - other.y)
      .flatMap(({ properties }) => properties.markdown ?? []);
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

describe('events of mails', () => {
  it('reach their queue from SES alone, and those of this stack’s mails alone', () => {
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
