import { Duration } from 'aws-cdk-lib';
import { MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { MakeAlarm } from './service-alarm.ts';
import type { BatchMetrics } from './service-metrics.ts';

/** A function that consumes a queue, by the stem of its file, and what it writes for every batch. */
export type Consumer = { name: string; lambda: LambdaFunction; batches: BatchMetrics };

/** The periods of every alarm on an outage. */
export const OUTAGE_PERIOD = Duration.minutes(2);

/** Internal errors below this share of the messages are no outage: `MessagesAging` watches those that do not pass. */
const INTERNAL_ERROR_PERCENT = 1;

/** The age in seconds at which a message is stuck: short failures of AWS are over within a minute or two. */
const STUCK_SECONDS = 300;

/** A message that fails again and again is received every 15 minutes in the end: it must be in the window at any time. */
const STUCK_PERIODS = 9;

/**
 * A message that crashes its function is received again after 180 s, and a retry up to 25 s later: five periods, of which the
 * newest is not complete, hold two of the receives at any time.
 */
const CRASH = { evaluationPeriods: 5, datapointsToAlarm: 2 };

/** Alarms of the functions that consume queues: the same four for each. */
export const consumerAlarms = (alarm: MakeAlarm, consumers: readonly Consumer[]): void => {
  for (const { name, lambda, batches } of consumers) {
    alarm(`InternalErrors-${name}`, {
      metric: new MathExpression({
        expression: `IF(FILL(errors, 0) >= 1 AND 100 * FILL(errors, 0) >= ${INTERNAL_ERROR_PERCENT} * (FILL(errors, 0) + FILL(handled, 0)), 1, 0)`,
        usingMetrics: { errors: batches('internal_errors'), handled: batches('handled') },
        period: OUTAGE_PERIOD,
        label: `internal errors of ${name}`,
      }),
      threshold: 1,
      // Two in a row: the newest of the three is not complete. A message that fails is received again within 90 s at first, so it
      // is in each of the others; later `MessagesAging` holds.
      evaluationPeriods: 3,
      datapointsToAlarm: 2,
      impact: `${name} cannot process messages, since DynamoDB or SQS fails or throttles: alerts are late, none is lost.`,
      firstStep: 'read the errors in its log group: each names its cause.',
      runbook: 'internal-errors',
    });
    alarm(`MessagesAging-${name}`, {
      metric: batches('oldest_unprocessed_seconds', { statistic: Stats.MAXIMUM, period: OUTAGE_PERIOD }),
      threshold: STUCK_SECONDS,
      evaluationPeriods: STUCK_PERIODS,
      datapointsToAlarm: 1,
      impact: `A message has failed in ${name} for ${STUCK_SECONDS / 60} minutes: its alerts are late, and it is tried again.`,
      firstStep: 'find the id of the message and the error in its log group.',
      runbook: 'messages-are-not-processed',
    });
    const reading = { period: OUTAGE_PERIOD, statistic: Stats.SUM };
    alarm(`Errors-${name}`, {
      metric: lambda.metricErrors(reading),
      threshold: 1,
      ...CRASH,
      impact: `${name} crashes or times out: its messages are late, and SQS moves them to the Crashed queue after 5 hours.`,
      firstStep: 'read the errors in its log group.',
      runbook: 'a-function-fails',
    });
    alarm(`Throttles-${name}`, {
      metric: lambda.metricThrottles(reading),
      threshold: 1,
      ...CRASH,
      impact: `Lambda has no concurrency left for ${name}: its messages are late.`,
      firstStep: 'compare the concurrency of the account with its limit: aws lambda get-account-settings.',
      runbook: 'a-function-is-throttled',
    });
  }
};
