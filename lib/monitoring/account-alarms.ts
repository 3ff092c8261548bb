import { Duration } from 'aws-cdk-lib';
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { FAILS_TWICE, OUTAGE_PERIOD } from './consumer-alarms.ts';
import type { AddAlarm } from './service-alarm.ts';

/** The percentage of the account's concurrency quota that leaves time to request an increase. */
const NEAR_QUOTA_PERCENT = 80;

/**
 * Adds the alarms on the Lambda concurrency that all functions of the account share in a region.
 *
 * @param quota the account's quota of concurrent executions
 * @param reserved how many of them the stack reserves
 */
export const accountAlarms = (addAlarm: AddAlarm, quota: number, reserved: number): void => {
  addAlarm('AccountConcurrency', {
    metric: new Metric({
      namespace: 'AWS/Lambda',
      metricName: 'ClaimedAccountConcurrency',
      statistic: Stats.MAXIMUM,
      period: Duration.minutes(1),
    }),
    // What is reserved is always claimed.
    threshold: reserved + ((quota - reserved) * NEAR_QUOTA_PERCENT) / 100,
    evaluationPeriods: 5,
    impact: `The functions of the account use ${NEAR_QUOTA_PERCENT}% of the concurrency quota${reserved > 0 ? ' that is not reserved' : ''}. At 100% Lambda throttles ${reserved > 0 ? 'the API' : 'the API and the senders'}.`,
    firstStep:
      'find the function whose concurrency grows, in any stack of the account (metric ConcurrentExecutions by function).',
    runbook: 'concurrency-near-the-limit',
  });
  addAlarm('Throttles', {
    // Without dimensions, the metric covers all functions.
    metric: new Metric({
      namespace: 'AWS/Lambda',
      metricName: 'Throttles',
      statistic: Stats.SUM,
      period: OUTAGE_PERIOD,
    }),
    threshold: 1,
    ...FAILS_TWICE,
    impact: 'Lambda throttles functions of the account. If it throttles a sender or dispatch, alerts are late.',
    firstStep: 'find the function on the dashboard, then compare the concurrency of the account with its quota.',
    runbook: 'functions-are-throttled',
  });
};
