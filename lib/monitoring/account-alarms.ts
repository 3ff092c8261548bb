import { Duration } from 'aws-cdk-lib';
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { AddAlarm } from './service-alarm.ts';

/** The percentage of the account's concurrency quota that leaves time to request an increase. */
const NEAR_QUOTA_PERCENT = 80;

/** Adds the alarm on the Lambda concurrency that all functions of the account share. */
export const accountAlarms = (
  addAlarm: AddAlarm,
  { lambdaConcurrencyQuota }: { lambdaConcurrencyQuota: number },
): void => {
  addAlarm('AccountConcurrency', {
    metric: new Metric({
      namespace: 'AWS/Lambda',
      metricName: 'ClaimedAccountConcurrency',
      statistic: Stats.MAXIMUM,
      period: Duration.minutes(1),
    }),
    threshold: (lambdaConcurrencyQuota * NEAR_QUOTA_PERCENT) / 100,
    evaluationPeriods: 5,
    impact: `The functions of the account use ${NEAR_QUOTA_PERCENT}% of the concurrency quota. At 100% Lambda throttles the API and the senders.`,
    firstStep:
      'find the function whose concurrency grows, in any stack of the account (metric ConcurrentExecutions by function).',
    runbook: 'concurrency-near-the-limit',
  });
};
