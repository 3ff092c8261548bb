import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { METRICS_NAMESPACE } from '../domain/delivery-metrics.ts';

/** Values of a metric per log line. At 100, the limit of EMF, Powertools writes the line and drops its dimensions. */
const MAX_VALUES = 99;

/**
 * The dimension `service` is the stack name, from the environment of the function: it separates stacks of one account.
 */
const metrics = new Metrics({ namespace: METRICS_NAMESPACE });

/** The result of one batch of a queue consumer. Emitted for every batch, zeros included, so that alarms can recover. */
export type BatchHealth = {
  /** Processed messages. */
  handled: number;
  /** Messages not processed and deliveries not recorded because of internal errors. */
  internalErrors: number;
  /** Age of the oldest message that could not be processed; 0 if there is none. */
  oldestUnprocessedSeconds: number;
};

const addHealth = ({ handled, internalErrors, oldestUnprocessedSeconds }: BatchHealth): void => {
  metrics.addMetric('handled', MetricUnit.Count, handled);
  metrics.addMetric('internal_errors', MetricUnit.Count, internalErrors);
  metrics.addMetric('oldest_unprocessed_seconds', MetricUnit.Seconds, oldestUnprocessedSeconds);
};

/**
 * Emits counts, durations in ms and the health of a batch as one log line in CloudWatch embedded metric format (EMF),
 * without an API call. Counts of 0 are omitted. Dimensions must have few values: a type or a function, never a tenant.
 */
export const count = (
  counts: Readonly<Record<string, number>>,
  dimensions: Record<string, string> = {},
  durationsMs: Readonly<Record<string, readonly number[]>> = {},
  health?: BatchHealth,
): void => {
  const nonZero = Object.entries(counts).filter(([, amount]) => amount > 0);
  const durations = Object.entries(durationsMs).flatMap(([name, values]) =>
    values.map((value) => [name, value] as const),
  );
  if (nonZero.length + durations.length === 0 && health === undefined) return;
  metrics.addDimensions(dimensions);
  for (const [name, amount] of nonZero) metrics.addMetric(name, MetricUnit.Count, amount);
  if (health) addHealth(health);
  for (const [name, value] of durations.slice(0, MAX_VALUES)) metrics.addMetric(name, MetricUnit.Milliseconds, value);
  metrics.publishStoredMetrics();
  const remaining = Object.entries(Object.groupBy(durations.slice(MAX_VALUES), ([name]) => name)).map(
    ([name, values = []]) => [name, values.map(([, value]) => value)] as const,
  );
  if (remaining.length > 0) count({}, dimensions, Object.fromEntries(remaining));
};

/** Returns the age of the oldest message in seconds, from send times in ms since the epoch; 0 for no messages. */
export const oldestAgeSeconds = (sentAtMs: readonly number[], nowMs: number): number =>
  sentAtMs.length === 0 ? 0 : Math.max(0, Math.round((nowMs - Math.min(...sentAtMs)) / 1000));

/** Returns the number of occurrences of each name. */
export const tally = (names: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
};
