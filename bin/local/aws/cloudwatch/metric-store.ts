/** What names a metric: CloudWatch treats each set of dimensions as a metric of its own. */
export type MetricIdentity = {
  namespace: string;
  name: string;
  dimensions: Readonly<Record<string, string>>;
};

/** One measured value of a metric. */
export type Measurement = {
  metric: MetricIdentity;
  value: number;
  /** Milliseconds since the epoch. */
  timestampMs: number;
};

/** The resolution of every metric here, as of all AWS services and of EMF without `StorageResolution`. */
export const MINUTE_MS = 60_000;

/** The values of metrics, minute by minute, and their statistics. */
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

  /** A statistic of the whole minutes from `startMs` until before `endMs`; undefined where nothing was measured. */
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

const byName = ([one]: [string, string], [other]: [string, string]): number => (one < other ? -1 : 1);

type Compute = (values: readonly number[]) => number;

const sum: Compute = (values) => values.reduce((total, value) => total + value, 0);

const statistics = new Map<string, Compute>([
  ['Sum', sum],
  ['SampleCount', (values) => values.length],
  ['Average', (values) => sum(values) / values.length],
  ['Maximum', (values) => values.reduce((one, other) => Math.max(one, other))],
  ['Minimum', (values) => values.reduce((one, other) => Math.min(one, other))],
]);

const statisticNamed = (name: string): Compute => {
  const percent = /^p(\d+(?:\.\d+)?)$/.exec(name)?.[1];
  const found = percent === undefined ? statistics.get(name) : percentile(Number(percent));
  if (!found) throw new Error(`CloudWatch has no statistic ${name} here.`);
  return found;
};

/** By the nearest rank: CloudWatch estimates, but never by more than the distance of two values. */
const percentile =
  (percent: number): Compute =>
  (values) => {
    const sorted = values.toSorted((one, other) => one - other);
    return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN;
  };
