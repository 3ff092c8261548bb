import {
  CloudWatchClient,
  DeleteAlarmsCommand,
  DescribeAlarmsCommand,
  GetMetricDataCommand,
  PutMetricAlarmCommand,
} from '@aws-sdk/client-cloudwatch';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { stackResources } from '../../bin/ops/deployment.ts';
import { METRICS_NAMESPACE } from '../../shared/domain/delivery-metrics.ts';
import { until } from '../support/until.ts';

/** CloudWatch evaluates a new alarm, and counts a line of a log, within a few minutes. */
const TIMEOUT_MS = 600_000;
const POLL_INTERVAL_MS = 10_000;

const { stack_name: stackName = '' } = inject('stack');
/** Part of every name that these tests create. */
const suffix = crypto.randomUUID();
const cloudWatch = new CloudWatchClient();
const lambda = new LambdaClient();
const alarmNames = [`MonitoringNotifications-fill-${suffix}`];

afterAll(async () => {
  await cloudWatch.send(new DeleteAlarmsCommand({ AlarmNames: alarmNames }));
  cloudWatch.destroy();
  lambda.destroy();
});

const sumOf = async (Namespace: string, MetricName: string, StartTime: Date): Promise<number> => {
  const { MetricDataResults: [result] = [] } = await cloudWatch.send(
    new GetMetricDataCommand({
      StartTime,
      EndTime: new Date(),
      MetricDataQueries: [{ Id: 'm', MetricStat: { Metric: { Namespace, MetricName }, Period: 60, Stat: 'Sum' } }],
    }),
  );
  return result?.Values?.reduce((sum, value) => sum + value, 0) ?? 0;
};

/** What the alarms assume of AWS, and no document confirms. */
describe('CloudWatch', () => {
  it('counts a failed invocation by the metric filter of its function', { timeout: TIMEOUT_MS }, async (context) => {
    const resources = await stackResources({ aws: {} }, stackName);
    context.skip(!resources.some(({ type }) => type === 'AWS::Logs::MetricFilter'), 'a development stage');
    const dispatch = resources.find(
      ({ type, logicalId }) => type === 'AWS::Lambda::Function' && logicalId.startsWith('Deliverydispatch'),
    );
    // CloudWatch rounds the time of metrics down to the minute.
    const since = new Date(Date.now() - 60_000);
    const namespace = `${METRICS_NAMESPACE}/${stackName}`;
    const before = await sumOf(namespace, 'function_errors', since);
    // Not an event of SQS, so the handler throws. One failed invocation raises no alarm.
    const { FunctionError } = await lambda.send(
      new InvokeCommand({ FunctionName: dispatch?.physicalId, Payload: '{}' }),
    );
    expect(FunctionError).toBe('Unhandled');
    await until(async () => (await sumOf(namespace, 'function_errors', since)) > before, POLL_INTERVAL_MS);
  });

  it('evaluates FILL to a value for a metric that never had data', { timeout: TIMEOUT_MS }, async () => {
    const MetricStat = {
      Metric: { Namespace: METRICS_NAMESPACE, MetricName: `never-emitted-${suffix}` },
      Period: 60,
      Stat: 'Sum',
    };
    await cloudWatch.send(
      new PutMetricAlarmCommand({
        AlarmName: alarmNames[0],
        ActionsEnabled: false,
        EvaluationPeriods: 1,
        Threshold: 1,
        ComparisonOperator: 'GreaterThanOrEqualToThreshold',
        // Without a value, the state would be ALARM.
        TreatMissingData: 'breaching',
        Metrics: [
          { Id: 'filled', Expression: 'FILL(m, 0)', ReturnData: true },
          { Id: 'm', MetricStat, ReturnData: false },
        ],
      }),
    );
    const state = await until(async () => {
      const { MetricAlarms: [alarm] = [] } = await cloudWatch.send(
        new DescribeAlarmsCommand({ AlarmNames: alarmNames }),
      );
      return alarm?.StateValue !== 'INSUFFICIENT_DATA' && alarm?.StateValue;
    }, POLL_INTERVAL_MS);
    expect(state).toBe('OK');
  });
});
