import { Duration } from 'aws-cdk-lib';
import { MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { AddAlarm } from './service-alarm.ts';
import type { BatchMetrics } from './service-metrics.ts';

/** A function that consumes a queue, and the metrics that it writes for every batch. */
export type Consumer = { name: string; lambda: LambdaFunction; batches: BatchMetrics };

/** The metric period of all alarms on outages. */
export const OUTAGE_PERIOD = Duration.minutes(2);

/** A lower percentage of internal errors is not an outage; `MessagesAging` covers messages that keep failing. */
const INTERNAL_ERROR_PERCENT = 1;

/** Longer than brief AWS failures, which last a minute or two. */
const STUCK_SECONDS = 300;

/**
 * Longer than the maximum interval of 15 minutes between receives of a failing message, so that the alarm does not
 * flap.
 */
const STUCK_PERIODS = 9;

/**
 * SQS returns a message that crashed its function after 180 s, and Lambda receives a retry up to 25 s later. Five
 * periods, of which the newest is incomplete, always contain two receives.
 */
const CRASH = { evaluationPeriods: 5, datapointsToAlarm: 2 };

/** Adds the same four alarms for each function that consumes a queue. */
export const consumerAlarms = (addAlarm: AddAlarm, consumers: readonly Consumer[]): void => {
  for (const { name, lambda, batches } of consumers) {
    addAlarm(`InternalErrors-${name}`, {
      metric: new MathExpression({
        expression: `IF(FILL(errors, 0) >= 1 AND 100 * FILL(errors, 0) >= ${INTERNAL_ERROR_PERCENT} * (FILL(errors, 0) + FILL(handled, 0)), 1, 0)`,
        usingMetrics: { errors: batches('internal_errors'), handled: batches('handled') },
        period: OUTAGE_PERIOD,
        label: `internal errors of ${name}`,
      }),
      threshold: 1,
      // Three periods, because the newest is incomplete. A failing message is at first received every 90 s or less, so
      // it appears in the other two; `MessagesAging` covers longer intervals.
      evaluationPeriods: 3,
      datapointsToAlarm: 2,
      impact: `${name} cannot process messages because DynamoDB or SQS fails or throttles. Alerts are late; none is lost.`,
      firstStep: 'read the errors in its log group; each contains its cause.',
      runbook: 'internal-errors',
    });
    addAlarm(`MessagesAging-${name}`, {
      metric: batches('oldest_unprocessed_seconds', { statistic: Stats.MAXIMUM, period: OUTAGE_PERIOD }),
      threshold: STUCK_SECONDS,
      evaluationPeriods: STUCK_PERIODS,
      datapointsToAlarm: 1,
      impact: `A message has failed in ${name} for ${STUCK_SECONDS / 60} minutes. Its alerts are late; the service retries it.`,
      firstStep: 'find the message ID and the error in its log group.',
      runbook: 'messages-are-not-processed',
    });
    const options = { period: OUTAGE_PERIOD, statistic: Stats.SUM };
    addAlarm(`Errors-${name}`, {
      metric: lambda.metricErrors(options),
      threshold: 1,
      ...CRASH,
      impact: `${name} crashes or times out. Its messages are late, and SQS moves them to the crashed queue after 5 hours.`,
      firstStep: 'read the errors in its log group.',
      runbook: 'a-function-fails',
    });
    addAlarm(`Throttles-${name}`, {
      metric: lambda.metricThrottles(options),
      threshold: 1,
      ...CRASH,
      impact: `Lambda throttles ${name}. Its messages are late.`,
      firstStep: 'compare the concurrency of the account with its quota: aws lambda get-account-settings.',
      runbook: 'a-function-is-throttled',
    });
  }
};
