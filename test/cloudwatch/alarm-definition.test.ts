import { describe, expect, it } from 'vitest';
import { readMonitoring } from './alarm-definition.ts';

const metric = (Id: string, Period = 60) => ({
  Id,
  MetricStat: {
    Metric: {
      Namespace: 'N',
      MetricName: Id,
      Dimensions: [{ Name: 'QueueName', Value: { 'Fn::GetAtt': ['Queue', 'QueueName'] } }],
    },
    Period,
    Stat: 'Sum',
  },
  ReturnData: false,
});

const template = (properties: Record<string, unknown>) => ({
  Resources: {
    Queue: { Type: 'AWS::SQS::Queue', Metadata: { 'aws:cdk:path': 'Stack/Work/Resource' } },
    Rule: { Type: 'AWS::CloudWatch::InsightRule', Properties: { RuleName: 'Stack-Tenants', RuleBody: ruleBody } },
    Alarm: {
      Type: 'AWS::CloudWatch::Alarm',
      Metadata: { 'aws:cdk:path': 'Stack/Monitoring/Age-work/Alarm/Resource' },
      Properties: {
        ComparisonOperator: 'GreaterThanOrEqualToThreshold',
        EvaluationPeriods: 3,
        Threshold: 5,
        ...properties,
      },
    },
  },
});

const ruleBody = JSON.stringify({
  Schema: { Name: 'CloudWatchLogRule', Version: 1 },
  LogGroupNames: ['group'],
  LogFormat: 'JSON',
  Contribution: { Keys: ['$.tenant_id'], Filters: [] },
  AggregateOn: 'Count',
});

describe('an alarm of a template', () => {
  it('on one metric has resolved references and the defaults of CloudWatch', () => {
    const { alarms } = readMonitoring(
      template({
        Namespace: 'AWS/SQS',
        MetricName: 'ApproximateAgeOfOldestMessage',
        Dimensions: [{ Name: 'QueueName', Value: { 'Fn::GetAtt': ['Queue', 'QueueName'] } }],
        Period: 60,
        Statistic: 'Maximum',
      }),
    );
    expect(alarms).toEqual([
      {
        name: 'Age-work',
        queries: [
          {
            id: 'single',
            metric: {
              namespace: 'AWS/SQS',
              name: 'ApproximateAgeOfOldestMessage',
              dimensions: { QueueName: 'Work' },
            },
            statistic: 'Maximum',
            periodMs: 60_000,
          },
        ],
        returnedId: 'single',
        periodMs: 60_000,
        evaluationPeriods: 3,
        datapointsToAlarm: 3,
        threshold: 5,
        comparison: 'GreaterThanOrEqualToThreshold',
        treatMissingData: 'missing',
      },
    ]);
  });

  it('on metric math evaluates the query that returns data, including insight rules', () => {
    const Expression = {
      'Fn::Join': ['', ['INSIGHT_RULE_METRIC("', { 'Fn::GetAtt': ['Rule', 'RuleName'] }, '", "UniqueContributors")']],
    };
    const Metrics = [
      { Id: 'sum', Expression: 'a + tenants' },
      metric('a'),
      { Id: 'tenants', Expression, Period: 60, ReturnData: false },
    ];
    const { alarms, insightRules } = readMonitoring(template({ Metrics, DatapointsToAlarm: 2 }));
    expect(alarms).toMatchObject([{ returnedId: 'sum', periodMs: 60_000, datapointsToAlarm: 2 }]);
    expect(alarms[0]?.queries[2]).toMatchObject({
      expression: { args: [{ value: 'Stack-Tenants' }, { value: 'UniqueContributors' }] },
    });
    expect(insightRules.map(({ name }) => name)).toEqual(['Stack-Tenants']);
  });

  it.each([
    ['two periods', [{ Id: 'e', Expression: 'a + b' }, metric('a'), metric('b', 300)], 'exactly one period'],
    [
      'eleven metrics',
      [{ Id: 'e', Expression: 'SUM(METRICS())' }, ...Array.from({ length: 11 }, (_, index) => metric(`m${index}`))],
      'CloudWatch allows 10',
    ],
    [
      'two results',
      [
        { ...metric('a'), ReturnData: true },
        { ...metric('b'), ReturnData: true },
      ],
      'exactly one time series',
    ],
    ['no expression', [{ Id: 'e', Expression: 'a +' }, metric('a')], 'Metric math'],
  ])('is rejected if it has %s', (_, Metrics, message) => {
    expect(() => readMonitoring(template({ Metrics }))).toThrow(message);
  });

  it('is rejected if it has an unsupported property', () => {
    expect(() =>
      readMonitoring(template({ Metrics: [metric('a')], EvaluateLowSampleCountPercentile: 'ignore' })),
    ).toThrow();
  });
});
