import { compileFunction } from 'node:vm';

/** The data point of one period; undefined if it is missing. */
export type DataPoint = number | undefined;

/** Computes the data point of a period from those of the metrics and expressions with these IDs. */
export type MetricMath = (pointOf: (id: string) => DataPoint, insightRule: InsightRuleMetric) => DataPoint;

/** Returns a metric of a Contributor Insights rule. */
type InsightRuleMetric = (ruleName: string, metric: string) => DataPoint;

/** The functions that alarms use. Any other one is a ReferenceError. */
const FUNCTIONS = {
  FILL: (point: DataPoint, filler: number) => point ?? filler,
  IF: (condition: boolean, value: number, otherwise: number) => (condition ? value : otherwise),
  MAX: (points: readonly number[]) => Math.max(...points),
};

/**
 * Compiles an expression of metric math, whose syntax is that of JavaScript except for `AND`. Its data point is missing
 * if one that it does not fill is missing, and on division by zero.
 *
 * @param ids the IDs of all metrics and expressions of the alarm
 * @throws SyntaxError
 */
export const metricMath = (expression: string, ids: readonly string[]): MetricMath => {
  const idsIn = (text: string) => ids.filter((id) => new RegExp(`\\b${id}\\b`).test(text));
  const used = idsIn(expression);
  const required = idsIn(expression.replaceAll(/\bFILL\(\w+/g, ''));
  const names = [...Object.keys(FUNCTIONS), 'INSIGHT_RULE_METRIC', ...used];
  const compute = compileFunction(`return ${expression.replaceAll(' AND ', ' && ')};`, names);
  return (pointOf, insightRule) => {
    const points = new Map(used.map((id) => [id, pointOf(id)]));
    if (required.some((id) => points.get(id) === undefined)) return undefined;
    const value = Number(compute(...Object.values(FUNCTIONS), insightRule, ...points.values()));
    return Number.isFinite(value) ? value : undefined;
  };
};
