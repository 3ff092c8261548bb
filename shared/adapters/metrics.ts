import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { METRICS_NAMESPACE } from '../domain/delivery-metrics.ts';

/** Its dimension `service` is the stack's name, from the function's environment: two stacks of an account stay apart. */
const metrics = new Metrics({ namespace: METRICS_NAMESPACE });

/** One value of a metric. */
export type Measurement = readonly [name: string, unit: (typeof MetricUnit)[keyof typeof MetricUnit], value: number];

/** Writes measurements as one log line, zeros included. Dimensions are few and closed: a type or a function, never a tenant. */
export const publish = (measurements: readonly Measurement[], dimensions: Record<string, string>): void => {
  metrics.addDimensions(dimensions);
  for (const [name, unit, value] of measurements) metrics.addMetric(name, unit, value);
  metrics.publishStoredMetrics();
};

/**
 * Counts things by name, and keeps times in ms, all in one log line in CloudWatch's embedded metric format (EMF): metrics
 * without an API call. Dimensions are few and closed: a type, never a tenant.
 */
export const count = (
  amounts: Readonly<Record<string, number>>,
  dimensions: Record<string, string> = {},
  times: Readonly<Record<string, readonly number[]>> = {},
): void => {
  const counted = Object.entries(amounts)
    .filter(([, amount]) => amount > 0)
    .map(([name, amount]): Measurement => [name, MetricUnit.Count, amount]);
  const timed = Object.entries(times).flatMap(([name, values]) =>
    values.map((value): Measurement => [name, MetricUnit.Milliseconds, value]),
  );
  if (counted.length + timed.length > 0) publish([...counted, ...timed], dimensions);
};

/** Tallies words, for `count`. */
export const tally = (words: readonly string[]): Record<string, number> => {
  const amounts: Record<string, number> = {};
  for (const word of words) amounts[word] = (amounts[word] ?? 0) + 1;
  return amounts;
};
