import { Duration } from 'aws-cdk-lib';
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { MakeAlarm } from './pipeline-alarms.ts';

/**
 * A function to watch, by the stem of its file. `hasQueue`: what fails comes again, so that a single error mends itself; else
 * Lambda tries an event three times and drops it.
 */
export type WatchedFunction = { name: string; lambda: LambdaFunction; hasQueue: boolean };

/** Share of the account's concurrency, in percent, at which there is still time to ask AWS for more. */
const NEAR_LIMIT = 80;

/** Alarms of the functions behind the queues, and of the concurrency that all functions of the account share. */
export const functionAlarms = (
  alarm: MakeAlarm,
  functions: readonly WatchedFunction[],
  { lambdaConcurrency }: { lambdaConcurrency: number },
): void => {
  const reading = { period: Duration.minutes(5), statistic: Stats.SUM };
  for (const { name, lambda, hasQueue } of functions) {
    alarm(`Errors-${name}`, {
      metric: hasQueue ? lambda.metricErrors(reading) : lambda.metric('AsyncEventsDropped', reading),
      threshold: 1,
      periods: hasQueue ? 3 : 1,
      impact: hasQueue
        ? `${name} crashes or runs out of time: what it works on comes late, and is lost to the dead letters in the end.`
        : `${name} failed three times on an event, which is lost: the record of a delivery does not say what became of it.`,
      firstStep: 'read the errors in its log group.',
      runbook: 'a-function-fails',
    });
    alarm(`Throttles-${name}`, {
      metric: lambda.metricThrottles(reading),
      threshold: 1,
      periods: 3,
      impact: `${name} does not get the concurrency that it needs: what waits for it comes late.`,
      firstStep: 'compare the concurrency of the account with its limit: aws lambda get-account-settings.',
      runbook: 'a-function-is-throttled',
    });
  }
  alarm('Concurrency', {
    metric: new Metric({
      namespace: 'AWS/Lambda',
      metricName: 'ClaimedAccountConcurrency',
      statistic: Stats.MAXIMUM,
      period: Duration.minutes(1),
    }),
    threshold: (lambdaConcurrency * NEAR_LIMIT) / 100,
    periods: 5,
    impact: `The functions of the account use ${NEAR_LIMIT} % of its concurrency; above all of it, API and senders are throttled.`,
    firstStep:
      'find which function grows, here or elsewhere in the account (Lambda, ConcurrentExecutions by function).',
    runbook: 'concurrency-near-the-limit',
  });
};
