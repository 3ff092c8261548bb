import { beforeEach, describe, expect, it } from 'vitest';
import { readMonitoring } from './alarm-definition.ts';
import { CloudWatch } from './cloudwatch.ts';
import { sampledQueue } from './sampled-queue.ts';

const MINUTE = 60_000;

const alarm = (name: string, properties: Record<string, unknown>) => ({
  Type: 'AWS::CloudWatch::Alarm',
  Metadata: { 'aws:cdk:path': `Stack/Monitoring/${name}/Alarm/Resource` },
  Properties: {
    ComparisonOperator: 'GreaterThanOrEqualToThreshold',
    EvaluationPeriods: 1,
    Threshold: 1,
    Period: 60,
    Statistic: 'Sum',
    TreatMissingData: 'notBreaching',
    ...properties,
  },
});

const plan = readMonitoring({
  Resources: {
    Api: { Type: 'AWS::ApiGatewayV2::Api' },
    Errors: alarm('Errors', {
      Namespace: 'AWS/Lambda',
      MetricName: 'Errors',
      Dimensions: [{ Name: 'FunctionName', Value: 'f' }],
    }),
    Throttles: alarm('Throttles', {
      Namespace: 'AWS/Lambda',
      MetricName: 'Throttles',
      Dimensions: [{ Name: 'FunctionName', Value: 'f' }],
    }),
    Concurrency: alarm('Concurrency', {
      Namespace: 'AWS/Lambda',
      MetricName: 'ClaimedAccountConcurrency',
      Statistic: 'Maximum',
      Threshold: 2,
    }),
    Api5xx: alarm('Api5xx', {
      Namespace: 'AWS/ApiGateway',
      MetricName: '5xx',
      Dimensions: [{ Name: 'ApiId', Value: { Ref: 'Api' } }],
    }),
    Age: alarm('Age', {
      Namespace: 'AWS/SQS',
      MetricName: 'ApproximateAgeOfOldestMessage',
      Statistic: 'Maximum',
      Threshold: 60,
      Dimensions: [{ Name: 'QueueName', Value: 'q' }],
    }),
    Logged: alarm('Logged', { Namespace: 'N', MetricName: 'failed' }),
    Filtered: alarm('Filtered', { Namespace: 'N/Stack', MetricName: 'crashes' }),
    AllThrottles: alarm('AllThrottles', { Namespace: 'AWS/Lambda', MetricName: 'Throttles' }),
    Logs: { Type: 'AWS::Logs::LogGroup' },
    Filter: {
      Type: 'AWS::Logs::MetricFilter',
      Properties: {
        LogGroupName: { Ref: 'Logs' },
        FilterPattern: '{ $.record.status != "success" }',
        MetricTransformations: [{ MetricNamespace: 'N/Stack', MetricName: 'crashes', MetricValue: '1' }],
      },
    },
    Function: { Type: 'AWS::Lambda::Function', Properties: { LoggingConfig: { LogGroup: { Ref: 'Logs' } } } },
  },
});

describe('the local CloudWatch', () => {
  let nowMs: number;
  let cloudWatch: CloudWatch;
  const queue = sampledQueue({ pendingReceives: 1, ageOfOldestMessageSeconds: () => 90 });
  const endMinutes = (minutes: number) => {
    for (let index = 0; index < minutes; index++) {
      nowMs += MINUTE;
      cloudWatch.endMinute([]);
    }
  };
  beforeEach(() => {
    nowMs = 0;
    cloudWatch = new CloudWatch({ plan, now: () => nowMs });
  });

  it('starts every alarm in INSUFFICIENT_DATA and rejects unknown names', () => {
    expect(cloudWatch.state('Errors')).toBe('INSUFFICIENT_DATA');
    expect(() => cloudWatch.state('Other')).toThrow('There is no alarm Other.');
  });

  it('publishes values one minute late and records state changes', () => {
    cloudWatch.invocation({ functionName: 'f', endedAtMs: 1, result: 'error', durationMs: 1 });
    endMinutes(1);
    expect(cloudWatch.firing).toEqual([]);
    endMinutes(1);
    expect(cloudWatch.firing).toEqual(['Errors']);
    endMinutes(3);
    expect(cloudWatch.firing).toEqual([]);
    expect(cloudWatch.transitions.filter(({ alarm }) => alarm === 'Errors')).toEqual([
      { alarm: 'Errors', state: 'OK', atMs: MINUTE },
      { alarm: 'Errors', state: 'ALARM', atMs: 2 * MINUTE },
      { alarm: 'Errors', state: 'OK', atMs: 4 * MINUTE },
    ]);
  });

  it('counts a throttled invocation as neither an invocation nor an error', () => {
    cloudWatch.invocation({ functionName: 'f', endedAtMs: 1, result: 'throttle', durationMs: 0 });
    cloudWatch.invocation({ functionName: 'f', endedAtMs: 1, result: 'success', durationMs: 5 });
    endMinutes(2);
    expect(cloudWatch.firing).toEqual(['Throttles', 'AllThrottles']);
  });

  it('counts the throttles of all functions together', () => {
    cloudWatch.invocation({ functionName: 'g', endedAtMs: 1, result: 'throttle', durationMs: 0 });
    endMinutes(2);
    expect(cloudWatch.firing).toEqual(['AllThrottles']);
  });

  it('counts the lines that match a metric filter, only of its log group', () => {
    const line = JSON.stringify({ record: { status: 'timeout' } });
    cloudWatch.log(line, 'other');
    cloudWatch.log(JSON.stringify({ record: { status: 'success' } }), 'Function');
    endMinutes(2);
    expect(cloudWatch.firing).toEqual([]);
    cloudWatch.log(line, 'Function');
    endMinutes(2);
    expect(cloudWatch.firing).toEqual(['Filtered']);
  });

  it('measures concurrent invocations', () => {
    for (const functionName of ['f', 'g']) {
      cloudWatch.invocation({ functionName, endedAtMs: 100, result: 'success', durationMs: 50 });
    }
    endMinutes(2);
    expect(cloudWatch.firing).toEqual(['Concurrency']);
  });

  it('counts API responses by status class', () => {
    for (const status of [200, 404, 429]) cloudWatch.request({ routeKey: undefined, status, latencyMs: 1 });
    endMinutes(2);
    expect(cloudWatch.firing).toEqual([]);
    cloudWatch.request({ routeKey: 'GET /', status: 503, latencyMs: 1 });
    endMinutes(2);
    expect(cloudWatch.firing).toEqual(['Api5xx']);
  });

  it('measures queues at the end of a minute', () => {
    nowMs = MINUTE;
    cloudWatch.endMinute([queue]);
    endMinutes(1);
    expect(cloudWatch.firing).toEqual(['Age']);
  });

  it('extracts metrics from log lines, ignores other lines and rejects metrics that AWS would drop', () => {
    const directive = { Namespace: 'N', Dimensions: [[]], Metrics: [{ Name: 'failed' }] };
    const line = { _aws: { Timestamp: 1, CloudWatchMetrics: [directive] } };
    for (const text of ['START', '{"level":"INFO"}', '{broken', JSON.stringify({ ...line, failed: 2 })]) {
      cloudWatch.log(text, 'f');
    }
    endMinutes(2);
    expect(cloudWatch.firing).toEqual(['Logged']);
    expect(() => cloudWatch.log(JSON.stringify(line), 'f')).toThrow();
  });
});
