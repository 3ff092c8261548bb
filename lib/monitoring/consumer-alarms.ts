import { Duration } from 'aws-cdk-lib';
import { Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { FunctionErrors } from './function-errors.ts';
import type { AddAlarm } from './service-alarm.ts';
import type { ServiceMetrics } from './service-metrics.ts';

/** A function that consumes a queue. */
export type Consumer = { name: string; lambda: LambdaFunction };

/** The metric period of all alarms on outages. */
export const OUTAGE_PERIOD = Duration.minutes(2);

/** Longer than brief AWS failures, which last a minute or two. */
const STUCK_SECONDS = 300;

/**
 * Longer than the maximum interval of 15 minutes between receives of a failing message, so that the alarm does not
 * flap.
 */
const STUCK_PERIODS = 9;

/**
 * Two of five periods of `OUTAGE_PERIOD`. SQS returns a message that crashed its function after 180 s, and Lambda
 * receives a retry up to 25 s later. Five periods, of which the newest is incomplete, always contain two receives.
 */
export const FAILS_TWICE = { evaluationPeriods: 5, datapointsToAlarm: 2 };

/** Adds the alarms on the functions that consume queues: one for each way to fail, not one for each function. */
export const consumerAlarms = (
  scope: Construct,
  addAlarm: AddAlarm,
  metrics: ServiceMetrics,
  consumers: readonly Consumer[],
): void => {
  addAlarm('InternalErrors', {
    metric: metrics.total('internal_errors', { period: OUTAGE_PERIOD }),
    threshold: 1,
    // Three periods, because the newest is incomplete. A failing message is at first received every 90 s or less, so
    // it appears in the other two; `MessagesAging` covers longer intervals.
    evaluationPeriods: 3,
    datapointsToAlarm: 2,
    impact:
      'A function cannot process messages because DynamoDB or SQS fails or throttles. Alerts are late; none is lost.',
    firstStep: 'find the function on the dashboard (Internal errors), and read the errors in its log group.',
    runbook: 'internal-errors',
  });
  addAlarm('MessagesAging', {
    metric: metrics.total('oldest_unprocessed_seconds', { statistic: Stats.MAXIMUM, period: OUTAGE_PERIOD }),
    threshold: STUCK_SECONDS,
    evaluationPeriods: STUCK_PERIODS,
    datapointsToAlarm: 1,
    impact: `A message has failed for ${STUCK_SECONDS / 60} minutes, or retries of several tenants are received ${STUCK_SECONDS / 60} minutes too late. Alerts are late; none is lost.`,
    firstStep:
      'find the function on the dashboard (Oldest unprocessed message), and the error in its log group; without errors, see the retry queues.',
    runbook: 'messages-are-not-processed',
  });
  addAlarm('FunctionErrors', {
    metric: new FunctionErrors(scope, 'FunctionErrorCount', consumers).metric({ period: OUTAGE_PERIOD }),
    threshold: 1,
    ...FAILS_TWICE,
    impact:
      'A function crashes or times out. Its messages are late, and SQS moves them to the crashed queue after 5 hours.',
    firstStep: 'find the function on the dashboard (Crashes and timeouts), and read the errors in its log group.',
    runbook: 'a-function-fails',
  });
};
