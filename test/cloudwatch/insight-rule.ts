import { z } from 'zod';

/** A JSON field of a log line, such as `$.user_id`. */
const field = z
  .string()
  .regex(/^\$\.\w+$/)
  .transform((path) => path.slice('$.'.length));
const filter = z.strictObject({ Match: field, In: z.array(z.string()).max(10) });
const ruleBody = z.strictObject({
  Schema: z.strictObject({ Name: z.literal('CloudWatchLogRule'), Version: z.literal(1) }),
  LogGroupNames: z.array(z.string()).min(1),
  LogFormat: z.literal('JSON'),
  Contribution: z.strictObject({ Keys: z.tuple([field]), Filters: z.array(filter).max(4) }),
  AggregateOn: z.literal('Count'),
});

type Line = Readonly<Record<string, unknown>>;

/** The metrics of a rule, from the number of lines of each contributor. */
const METRICS = new Map<string, (counts: readonly number[]) => number>([
  ['UniqueContributors', (counts) => counts.length],
  ['Sum', (counts) => counts.reduce((sum, amount) => sum + amount, 0)],
]);

/** A Contributor Insights rule that counts log lines per contributor. */
export class InsightRule {
  readonly name: string;
  readonly #body: z.infer<typeof ruleBody>;
  readonly #contributions: { timestampMs: number; contributor: unknown }[] = [];

  /**
   * @param body the rule as JSON
   * @throws ZodError if the rule uses an unsupported feature
   */
  constructor(name: string, body: string) {
    this.name = name;
    this.#body = ruleBody.parse(JSON.parse(body));
  }

  /** Counts a log line if it is from a log group of the rule and matches the filters. */
  add(logGroup: string, line: Line, timestampMs: number): void {
    const { LogGroupNames, Contribution } = this.#body;
    const contributor = line[Contribution.Keys[0]];
    if (contributor === undefined || !LogGroupNames.includes(logGroup)) return;
    if (Contribution.Filters.every(({ Match, In }) => In.includes(String(line[Match])))) {
      this.#contributions.push({ timestampMs, contributor });
    }
  }

  /** Returns a metric of the lines from `startMs` (inclusive) to `endMs` (exclusive), or undefined without a line. */
  metric(name: string, startMs: number, endMs: number): number | undefined {
    const lines = this.#contributions.filter(({ timestampMs }) => timestampMs >= startMs && timestampMs < endMs);
    if (lines.length === 0) return undefined;
    return METRICS.get(name)?.(
      [...Map.groupBy(lines, ({ contributor }) => contributor).values()].map((of) => of.length),
    );
  }
}
