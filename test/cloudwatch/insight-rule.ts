import { z } from 'zod';

/** A JSON field of a log line, such as `$.user_id`. */
const field = z.string().regex(/^\$\.\w+$/);
const filter = z.union([
  z.strictObject({ Match: field, In: z.array(z.string()).max(10) }),
  z.strictObject({ Match: field, NotIn: z.array(z.string()).max(10) }),
]);
const ruleBody = z.strictObject({
  Schema: z.strictObject({ Name: z.literal('CloudWatchLogRule'), Version: z.literal(1) }),
  LogGroupNames: z.array(z.string()).min(1),
  LogFormat: z.literal('JSON'),
  Contribution: z.strictObject({
    Keys: z.array(field).min(1).max(4),
    Filters: z.array(filter).max(4),
  }),
  AggregateOn: z.literal('Count'),
});

type RuleBody = z.infer<typeof ruleBody>;
type Line = Readonly<Record<string, unknown>>;

/** The metrics of a rule, from the number of lines of each contributor. */
const METRICS = new Map<string, (counts: readonly number[]) => number>([
  ['UniqueContributors', (counts) => counts.length],
  ['MaxContributorValue', (counts) => Math.max(...counts)],
  ['Sum', (counts) => counts.reduce((sum, amount) => sum + amount, 0)],
]);

/** A Contributor Insights rule that counts log lines per contributor. */
export class InsightRule {
  readonly name: string;
  readonly #body: RuleBody;
  readonly #contributions: { timestampMs: number; contributor: string }[] = [];

  /**
   * @param body the rule as JSON
   * @throws ZodError if the rule uses an unsupported feature
   */
  constructor(name: string, body: string) {
    this.name = name;
    this.#body = ruleBody.parse(JSON.parse(body));
  }

  /** Counts a log line if it is from a log group of the rule and matches the filters. */
  add(logGroupName: string, line: Line, timestampMs: number): void {
    const { LogGroupNames, Contribution } = this.#body;
    if (!LogGroupNames.includes(logGroupName) || !Contribution.Filters.every((filter) => matches(filter, line))) return;
    const keys = Contribution.Keys.map((key) => valueAt(key, line));
    // CloudWatch ignores lines that lack one of the keys.
    if (keys.includes(undefined)) return;
    this.#contributions.push({ timestampMs, contributor: JSON.stringify(keys) });
  }

  /**
   * Returns a metric of the rule from `startMs` (inclusive) to `endMs` (exclusive), or undefined if no line
   * contributed.
   *
   * @throws Error for an unsupported metric
   */
  metric(name: string, startMs: number, endMs: number): number | undefined {
    const contributions = this.#contributions.filter(
      ({ timestampMs }) => timestampMs >= startMs && timestampMs < endMs,
    );
    const counts = [...Map.groupBy(contributions, ({ contributor }) => contributor).values()].map(
      ({ length }) => length,
    );
    const compute = METRICS.get(name);
    if (!compute) throw new Error(`The metric ${name} of an insight rule is not supported.`);
    return counts.length === 0 ? undefined : compute(counts);
  }
}

const valueAt = (path: string, line: Line): string | undefined => {
  const value = line[path.slice('$.'.length)];
  return value === undefined || value === null ? undefined : String(value);
};

const matches = (condition: z.infer<typeof filter>, line: Line): boolean => {
  const value = valueAt(condition.Match, line);
  if ('In' in condition) return value !== undefined && condition.In.includes(value);
  return value === undefined || !condition.NotIn.includes(value);
};
