import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { METRICS_NAMESPACE } from '../domain/delivery-metrics.ts';

/** Its dimension `service` is the stack's name, from the function's environment: two stacks of an account stay apart. */
const metrics = new Metrics({ namespace: METRICS_NAMESPACE });

/**
 * Counts things by name, and keeps times in ms, all in one log line in CloudWatch's embedded metric format (EMF): metrics
 * without an API call. Dimensions are few and closed: a type, never a tenant.
 */
export const count = (
  amounts: Readonly<Record<string, number>>,
  dimensions: Record<string, string> = {},
  times: Readonly<Record<string, readonly number[]>> = {},
): void => {
  const counted = Object.entries(amounts).filter(([, amount]) => amount > 0);
  const timed = Object.entries(times).flatMap(([name, values]) => values.map((value) => [name, value] as const));
  if (counted.length + timed.length === 0) return;
  metrics.addDimensions(dimensions);
  for (const [name, amount] of counted) metrics.addMetric(name, MetricUnit.Count, amount);
  for (const [name, value] of timed) metrics.addMetric(name, MetricUnit.Milliseconds, value);
  metrics.publishStoredMetrics();
};

/** Tallies words, for `count`. */
export const tally = (words: readonly string[]): Record<string, number> => {
  const amounts: Record<string, number> = {};
  for (const word of words) amounts[word] = (amounts[word] ?? 0) + 1;
  return amounts;
};
