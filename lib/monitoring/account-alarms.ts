import { Duration } from 'aws-cdk-lib';
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { MakeAlarm } from './service-alarm.ts';

/** Share of the account's concurrency, in percent, at which there is still time to ask AWS for more. */
const NEAR_LIMIT_PERCENT = 80;

/** Alarms of what all functions of the account share. */
export const accountAlarms = (
  alarm: MakeAlarm,
  { lambdaConcurrencyQuota }: { lambdaConcurrencyQuota: number },
): void => {
  alarm('Concurrency', {
    metric: new Metric({
      namespace: 'AWS/Lambda',
      metricName: 'ClaimedAccountConcurrency',
      statistic: Stats.MAXIMUM,
      period: Duration.minutes(1),
    }),
    threshold: (lambdaConcurrencyQuota * NEAR_LIMIT_PERCENT) / 100,
    evaluationPeriods: 5,
    impact: `The functions of the account use ${NEAR_LIMIT_PERCENT} % of its concurrency; at 100 % Lambda throttles API and senders.`,
    firstStep:
      'find which function grows, here or elsewhere in the account (Lambda, ConcurrentExecutions by function).',
    runbook: 'concurrency-near-the-limit',
  });
};
