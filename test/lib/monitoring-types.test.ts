import { Duration } from 'aws-cdk-lib';
import { type IAlarmAction, MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { expect, it } from 'vitest';
import { ServiceAlarm } from '../../lib/monitoring/service-alarm.ts';
import { unfinishedStack } from '../support/stack.ts';

it('an alarm with more metrics fails at synth, which names the alarm and both numbers', () => {
  const metrics = Array.from({ length: 11 }, (_, index) => new Metric({ namespace: 'n', metricName: `m${index}` }));
  const metric = new MathExpression({
    expression: 'MAX(METRICS())',
    usingMetrics: Object.fromEntries(metrics.map((used, index) => [`m${index}`, used])),
    period: Duration.minutes(1),
  });
  const action: IAlarmAction = { bind: () => ({ alarmActionArn: 'arn:aws:sns:us-east-1:1:topic' }) };
  const props = { metric, threshold: 1, evaluationPeriods: 1, impact: 'None.', firstStep: 'none', runbook: 'none' };
  unfinishedStack({}, (stack) => {
    expect(() => new ServiceAlarm(stack, 'TooFull', action, props)).toThrow(
      'The alarm TooFull reads 11 metrics, and CloudWatch allows 10: split it.',
    );
  });
});
