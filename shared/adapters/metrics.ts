import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { METRICS_NAMESPACE } from '../domain/delivery-metrics.ts';

/** Values of a metric in one line: at 100 (EMF specification), Powertools writes the line and forgets its dimensions. */
const MAX_VALUES = 99;

/** Its dimension `service` is the stack's name, from the function's environment: two stacks of an account stay apart. */
const metrics = new Metrics({ namespace: METRICS_NAMESPACE });

/**
 * How a consumer of a queue got on with a batch. Written for every batch, zeros included: an alarm that waits for a good batch
 * must see one.
 */
export type BatchHealth = {
  /** Messages that were processed. */
  handled: number;
  /** Messages that could not be processed, or deliveries that could not be recorded, through a failure of ours. */
  internalErrors: number;
  /** Age of the oldest message that could not be processed, in seconds; 0 where there is none. */
  oldestUnprocessedSeconds: number;
};

const addHealth = ({ handled, internalErrors, oldestUnprocessedSeconds }: BatchHealth): void => {
  metrics.addMetric('handled', MetricUnit.Count, handled);
  metrics.addMetric('internal_errors', MetricUnit.Count, internalErrors);
  metrics.addMetric('oldest_unprocessed_seconds', MetricUnit.Seconds, oldestUnprocessedSeconds);
};

/**
 * Counts things by name, keeps times in ms, and the health of a batch, all in one log line in CloudWatch's embedded metric
 * format (EMF): metrics without an API call. Dimensions are few and closed: a type or a function, never a tenant.
 */
export const count = (
  amounts: Readonly<Record<string, number>>,
  dimensions: Record<string, string> = {},
  times: Readonly<Record<string, readonly number[]>> = {},
  health?: BatchHealth,
): void => {
  const counted = Object.entries(amounts).filter(([, amount]) => amount > 0);
  const timed = Object.entries(times).flatMap(([name, values]) => values.map((value) => [name, value] as const));
  if (counted.length + timed.length === 0 && health === undefined) return;
  metrics.addDimensions(dimensions);
  for (const [name, amount] of counted) metrics.addMetric(name, MetricUnit.Count, amount);
  if (health) addHealth(health);
  for (const [name, value] of timed.slice(0, MAX_VALUES)) metrics.addMetric(name, MetricUnit.Milliseconds, value);
  metrics.publishStoredMetrics();
  const rest = Object.groupBy(timed.slice(MAX_VALUES), ([name]) => name);
  const later = Object.entries(rest).map(([name, values = []]) => [name, values.map(([, value]) => value)] as const);
  if (later.length > 0) count({}, dimensions, Object.fromEntries(later));
};

/** How long ago the oldest of these messages was sent, in seconds; 0 for none. */
export const oldestAgeSeconds = (sentAt: readonly number[], now: number): number =>
  sentAt.length === 0 ? 0 : Math.max(0, Math.round((now - Math.min(...sentAt)) / 1000));

/** Tallies words, for `count`. */
export const tally = (words: readonly string[]): Record<string, number> => {
  const amounts: Record<string, number> = {};
  for (const word of words) amounts[word] = (amounts[word] ?? 0) + 1;
  return amounts;
};
