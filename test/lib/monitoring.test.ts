import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { functionNames } from '../../lib/bundles.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { propertiesOf, synthesized } from '../support/stack.ts';

const alarmSchema = z.looseObject({
  Threshold: z.number(),
  EvaluationPeriods: z.number(),
  ComparisonOperator: z.string(),
  TreatMissingData: z.string(),
  Metrics: z.array(z.looseObject({ Expression: z.unknown().optional() })).optional(),
});

const { template } = synthesized();
const alarms = propertiesOf(template, 'AWS::CloudWatch::Alarm', alarmSchema);

/** The alarm of this name, under whatever hash. */
const alarm = (name: string, from = alarms) => {
  const [found, ...others] = [...from].filter(([id]) => new RegExp(`^Monitoring${name}Alarm[0-9A-F]{8}$`).test(id));
  expect(others).toEqual([]);
  if (!found) throw new Error(`There is no alarm ${name}.`);
  return found[1];
};

describe('the alarms', () => {
  it('watch every queue that work comes from', () => {
    expect(alarm('InFlightalarmevents')).toMatchObject({
      MetricName: 'ApproximateNumberOfMessagesNotVisible',
      Threshold: 60_000,
      Statistic: 'Maximum',
    });
    expect(alarm('QueueAgealarmevents')).toMatchObject({ MetricName: 'ApproximateAgeOfOldestMessage', Threshold: 120 });
  });

  it.each(notificationTypeIds)('take what is new and what is tried again together: %s', (type) => {
    const sources = (metrics: unknown) =>
      [...JSON.stringify(metrics).matchAll(/"Delivery\w+?(Queue|Retries)[0-9A-F]{8}","QueueName"/g)].map(
        ([, queue]) => queue,
      );
    const { Metrics: ages = [], Threshold: oldest } = alarm(`QueueAge${type}`);
    // A retry waits on its queue for up to 900 s by design.
    expect([ages[0]?.Expression, oldest]).toEqual(['MAX([FILL(fresh, 0), FILL(retries, 0) - 900])', 300]);
    expect(JSON.stringify(ages).match(/"ApproximateAgeOfOldestMessage"/g)).toHaveLength(2);
    expect(sources(ages)).toEqual(['Queue', 'Retries']);
    const { Metrics: inFlight = [], Threshold: many } = alarm(`InFlight${type}`);
    expect([inFlight[0]?.Expression, many]).toEqual(['MAX([FILL(fresh, 0), FILL(retries, 0)])', 60_000]);
    expect(JSON.stringify(inFlight).match(/"ApproximateNumberOfMessagesNotVisible"/g)).toHaveLength(2);
    expect(sources(inFlight)).toEqual(['Queue', 'Retries']);
  });

  it('watch every function that no caller waits for', () => {
    const watched = functionNames.filter((name) => /^(dispatch|send|record)-/.test(name));
    expect(watched).toHaveLength(notificationTypeIds.length + 2);
    for (const name of watched) {
      const stem = name.replaceAll('-', '');
      expect(alarm(`Errors${stem}`)).toMatchObject({ Namespace: 'AWS/Lambda', MetricName: 'Errors' });
      expect(alarm(`Throttles${stem}`)).toMatchObject({ MetricName: 'Throttles' });
    }
  });

  it('go off at one dead letter of the service, of whatever type, and at one dead event', () => {
    const { Metrics = [], Threshold } = alarm('DeadLettersOfService');
    expect(Threshold).toBe(1);
    expect(JSON.stringify(Metrics).match(/"dead_service"/g)?.length).toBeGreaterThanOrEqual(notificationTypeIds.length);
    expect(alarm('DeadAlarmEvents')).toMatchObject({
      MetricName: 'ApproximateNumberOfMessagesVisible',
      Dimensions: [
        { Name: 'QueueName', Value: { 'Fn::GetAtt': ['DeliveryAlarmEventsDeadLettersE737AA73', 'QueueName'] } },
      ],
      Threshold: 1,
    });
  });

  it.each(notificationTypeIds)('stay quiet where the destinations of one tenant alone fail: %s', (type) => {
    const { Metrics = [], Threshold, TreatMissingData } = alarm(`DestinationFailures${type}`);
    expect(Metrics[0]?.Expression).toBe(
      'IF(tenants >= 3 AND attempts - worst >= 50, 100 * (failures - worst) / (attempts - worst), 0)',
    );
    expect({ Threshold, TreatMissingData }).toEqual({ Threshold: 50, TreatMissingData: 'notBreaching' });
    expect(JSON.stringify(Metrics)).toMatch(/UniqueContributors.*MaxContributorValue/);
  });

  it('know tenants from the logs of the senders, and from no metric', () => {
    const rules = propertiesOf(template, 'AWS::CloudWatch::InsightRule', z.object({ RuleBody: z.unknown() }));
    expect(rules.size).toBe(notificationTypeIds.length);
    for (const { RuleBody } of rules.values()) expect(JSON.stringify(RuleBody)).toContain('$.tenant_id');
    for (const found of alarms.values()) expect(JSON.stringify(found)).not.toContain('"Name":"tenant');
  });

  it('take no data as good news, but where something is measured only when it is used', () => {
    const ignoring = [...alarms].filter(([, { TreatMissingData }]) => TreatMissingData !== 'notBreaching');
    expect(ignoring.map(([, one]) => [one.MetricName, one.TreatMissingData]).toSorted()).toEqual([
      ['Reputation.BounceRate', 'ignore'],
      ['Reputation.ComplaintRate', 'ignore'],
      ['SMSMonthToDateSpentUSD', 'ignore'],
    ]);
  });

  it('follow the settings for money and concurrency', () => {
    const { template: other } = synthesized({ smsMonthlyBudget: '50', lambdaConcurrency: '2000' });
    const others = propertiesOf(other, 'AWS::CloudWatch::Alarm', alarmSchema);
    expect(alarm('SmsSpend', others).Threshold).toBe(40);
    expect(alarm('SmsSpend').Threshold).toBe(0.8);
    expect(alarm('Concurrency', others).Threshold).toBe(1_600);
  });

  it('count what this stack did, and not another one of the account: its name is a dimension', () => {
    const { Metrics = [] } = alarm('DeadLettersOfService');
    expect(JSON.stringify(Metrics)).toContain('{"Name":"service","Value":"MonitoringNotifications"}');
    const variables = z.looseObject({ POWERTOOLS_SERVICE_NAME: z.literal('MonitoringNotifications') });
    const functions = z.object({ Environment: z.object({ Variables: variables }) });
    expect(propertiesOf(template, 'AWS::Lambda::Function', functions).size).toBe(functionNames.length);
  });

  it('are of tests of destinations in no case: those take as long as the destination', () => {
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
      '## Queues of the types',
      '## Retries of the types',
      '## Senders',
      '## Dead letters',
      '## Mail and texts',
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
        detail: { mail: { tags: { 'ses:configuration-set': [{ Ref: 'MailConfigurationSet2AA84368' }] } } },
      },
    });
  });
});
