import type { Measurement, MetricIdentity } from 'local-aws/cloudwatch/metric-store.ts';
import { z } from 'zod';
import { type FilterPattern, matchesPattern, parseFilterPattern } from './filter-pattern.ts';

const transformation = z.strictObject({
  MetricNamespace: z.unknown(),
  MetricName: z.unknown(),
  MetricValue: z.literal('1'),
});
const properties = z.strictObject({
  LogGroupName: z.unknown(),
  FilterPattern: z.unknown(),
  MetricTransformations: z.tuple([transformation]),
});

/** A metric filter that counts the lines of a log group that match a pattern. */
export class MetricFilter {
  readonly logGroupName: string;
  readonly #metric: MetricIdentity;
  readonly #pattern: FilterPattern;

  /**
   * @param text resolves a template value to a string
   * @throws Error if the filter uses an unsupported feature
   */
  constructor(declared: unknown, text: (value: unknown) => string) {
    const { LogGroupName, FilterPattern, MetricTransformations } = properties.parse(declared);
    const [{ MetricNamespace, MetricName }] = MetricTransformations;
    this.logGroupName = text(LogGroupName);
    this.#metric = { namespace: text(MetricNamespace), name: text(MetricName), dimensions: {} };
    this.#pattern = parseFilterPattern(text(FilterPattern));
  }

  /** Returns the measurement of a log line that matches. */
  measurements(line: Readonly<Record<string, unknown>>, timestampMs: number): Measurement[] {
    return matchesPattern(this.#pattern, line) ? [{ metric: this.#metric, value: 1, timestampMs }] : [];
  }
}
