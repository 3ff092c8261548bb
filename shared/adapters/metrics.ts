import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';

const metrics = new Metrics({ namespace: 'MonitoringNotifications', serviceName: 'notifications' });

/**
 * Counts things by name, in one log line in CloudWatch's embedded metric format (EMF): metrics without an API call.
 * Dimensions are few and closed: a type, never a tenant.
 */
export const count = (amounts: Readonly<Record<string, number>>, dimensions: Record<string, string> = {}): void => {
  const counted = Object.entries(amounts).filter(([, amount]) => amount > 0);
  if (counted.length === 0) return;
  metrics.addDimensions(dimensions);
  for (const [name, amount] of counted) metrics.addMetric(name, MetricUnit.Count, amount);
  metrics.publishStoredMetrics();
};

/** Tallies words, for `count`. */
export const tally = (words: readonly string[]): Record<string, number> => {
  const amounts: Record<string, number> = {};
  for (const word of words) amounts[word] = (amounts[word] ?? 0) + 1;
  return amounts;
};
