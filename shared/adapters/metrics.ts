import { hasTotal, isOnlyTotal, METRICS_NAMESPACE } from '../domain/delivery-metrics.ts';

const MAX_VALUES = 100;

type Values = Readonly<Record<string, number | readonly number[]>>;

const directive = (dimensionSets: readonly string[][], names: readonly string[]) => ({
  Namespace: METRICS_NAMESPACE,
  Dimensions: dimensionSets,
  Metrics: names.map((Name) => ({ Name })),
});

/**
 * A line in the embedded metric format, without a library because it is most of what is logged. Only metrics that
 * alarms read have a second set of dimensions.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
const metricLine = (service: string, values: Values, dimensions: Readonly<Record<string, string>>): string => {
  const all = ['service', ...Object.keys(dimensions)];
  const names = Object.keys(values);
  const totals = all.length > 1 ? names.filter(isOnlyTotal) : [];
  const withTotal = all.length > 1 ? names.filter(hasTotal) : [];
  const others = names.filter((name) => !totals.includes(name) && !withTotal.includes(name));
  return JSON.stringify({
    _aws: {
      Timestamp: Date.now(),
      CloudWatchMetrics: [
        ...(others.length > 0 ? [directive([all], others)] : []),
        ...(withTotal.length > 0 ? [directive([all, ['service']], withTotal)] : []),
        ...(totals.length > 0 ? [directive([['service']], totals)] : []),
      ],
    },
    service,
    ...dimensions,
    ...values,
  });
};

const nonZero = (amounts: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount !== 0));

/**
 * Emits metrics as one log line, from which CloudWatch reads them. Amounts of 0 are omitted: metrics cost money while
 * they have values, and alarms treat missing data as 0. Nothing outside a function: commands print results. Dimensions
 * have few values, never a tenant. `several`: several values of each metric, zeros included.
 */
export const emitMetrics = (
  amounts: Readonly<Record<string, number>>,
  dimensions: Readonly<Record<string, string>> = {},
  several: Readonly<Record<string, readonly number[]>> = {},
): void => {
  // The name of the stack separates the stacks of an account. Only functions have it.
  const service = process.env.STACK_NAME;
  if (service === undefined) return;
  const lists = Object.entries(several);
  const lineCount = Math.max(1, ...lists.map(([, { length }]) => Math.ceil(length / MAX_VALUES)));
  for (let index = 0; index < lineCount; index++) {
    const chunks = lists
      .map(([name, values]) => [name, values.slice(index * MAX_VALUES, (index + 1) * MAX_VALUES)] as const)
      .filter(([, { length }]) => length > 0)
      .map(([name, values]) => [name, values.length === 1 ? values.reduce((only) => only) : values] as const);
    const values: Values = { ...(index === 0 && nonZero(amounts)), ...Object.fromEntries(chunks) };
    if (Object.keys(values).length > 0) process.stdout.write(`${metricLine(service, values, dimensions)}\n`);
  }
};

/** Emits counts of the whole stack. */
export const count = (counts: Readonly<Record<string, number>>): void => emitMetrics(counts);

/** Returns the age of the oldest message in seconds, from send times in ms since the epoch; 0 for no messages. */
export const oldestAgeSeconds = (sentAtMs: readonly number[], nowMs: number): number =>
  sentAtMs.length === 0 ? 0 : Math.max(0, Math.round((nowMs - Math.min(...sentAtMs)) / 1000));

export const tally = (names: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
};
