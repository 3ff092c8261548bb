/** The identity of a metric: CloudWatch treats each set of dimensions as a separate metric. */
export type MetricIdentity = {
  namespace: string;
  name: string;
  dimensions: Readonly<Record<string, string>>;
};

/** A value of a metric. */
export type Measurement = {
  metric: MetricIdentity;
  value: number;
  /** Milliseconds since the epoch. */
  timestampMs: number;
};

/** The resolution of all metrics: that of AWS services and of EMF without `StorageResolution`. */
export const MINUTE_MS = 60_000;

/** Stores metric values by minute and computes statistics. */
export class MetricStore {
  readonly #metrics = new Map<string, Map<number, number[]>>();

  put({ metric, value, timestampMs }: Measurement): void {
    const minutes = this.#metrics.get(keyOf(metric)) ?? new Map<number, number[]>();
    this.#metrics.set(keyOf(metric), minutes);
    const minute = Math.floor(timestampMs / MINUTE_MS);
    const values = minutes.get(minute) ?? [];
    minutes.set(minute, values);
    values.push(value);
  }

  /** Returns a statistic over the whole minutes between `startMs` and `endMs`, or undefined if there are no values. */
  statistic(metric: MetricIdentity, statistic: string, startMs: number, endMs: number): number | undefined {
    const compute = statisticNamed(statistic);
    const minutes = this.#metrics.get(keyOf(metric));
    if (!minutes) return undefined;
    const values: number[] = [];
    for (let minute = Math.ceil(startMs / MINUTE_MS); (minute + 1) * MINUTE_MS <= endMs; minute++) {
      values.push(...(minutes.get(minute) ?? []));
    }
    return values.length === 0 ? undefined : compute(values);
  }
}

const keyOf = ({ namespace, name, dimensions }: MetricIdentity): string =>
  JSON.stringify([namespace, name, Object.entries(dimensions).toSorted(byName)]);

const byName = ([a]: [string, string], [b]: [string, string]): number => (a < b ? -1 : 1);

type Compute = (values: readonly number[]) => number;

const sum: Compute = (values) => values.reduce((total, value) => total + value, 0);

const STATISTICS = new Map<string, Compute>([
  ['Sum', sum],
  ['SampleCount', (values) => values.length],
  ['Average', (values) => sum(values) / values.length],
  ['Maximum', (values) => values.reduce((a, b) => Math.max(a, b))],
  ['Minimum', (values) => values.reduce((a, b) => Math.min(a, b))],
]);

const statisticNamed = (name: string): Compute => {
  const percent = /^p(\d+(?:\.\d+)?)$/.exec(name)?.[1];
  const bound = /^PR\(:(\d+(?:\.\d+)?)\)$/.exec(name)?.[1];
  const found =
    percent !== undefined
      ? percentile(Number(percent))
      : bound !== undefined
        ? percentileRank(Number(bound))
        : STATISTICS.get(name);
  if (!found) throw new Error(`The statistic ${name} is not supported.`);
  return found;
};

/** Returns the percentage of values that are at most `bound`. */
const percentileRank =
  (bound: number): Compute =>
  (values) =>
    (100 * values.filter((value) => value <= bound).length) / values.length;

/**
 * Uses the nearest rank. CloudWatch estimates percentiles, with an error of at most the distance between two
 * neighboring values.
 */
const percentile =
  (percent: number): Compute =>
  (values) => {
    const sorted = values.toSorted((a, b) => a - b);
    return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN;
  };
