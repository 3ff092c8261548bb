import type { Expression, Operator } from './metric-math-syntax.ts';

/** The data point of one period; undefined if it is missing. */
export type DataPoint = number | undefined;

/** The source of an expression's data points for the evaluated period. */
export type MathSource = {
  /** Returns the data point of the metric or expression with this ID. Throws if there is none. */
  reference(id: string): DataPoint;
  /** Returns the data points of all metrics of the alarm, without its expressions. */
  metrics(): DataPoint[];
  /** Returns a metric of a Contributor Insights rule. */
  insightRule(ruleName: string, metric: string): DataPoint;
};

type Value = DataPoint | DataPoint[];

/**
 * Returns the data point of an expression for one period. Supports only functions that work on single periods.
 *
 * @throws Error for an unsupported function or an invalid argument
 */
export const evaluateExpression = (expression: Expression, source: MathSource): DataPoint =>
  single(resolve(expression, source));

const resolve = (expression: Expression, source: MathSource): Value => {
  if (expression.kind === 'number') return expression.value;
  if (expression.kind === 'text') throw new Error(`Metric math: the text "${expression.value}" is not a value.`);
  if (expression.kind === 'reference') return source.reference(expression.id);
  if (expression.kind === 'array') return expression.items.flatMap((item) => resolve(item, source));
  if (expression.kind === 'call') return call(expression.name, expression.args, source);
  const left = resolve(expression.left, source);
  const right = resolve(expression.right, source);
  return operate(expression.operator, single(left), single(right));
};

const call = (name: string, args: Expression[], source: MathSource): Value => {
  const [first, second, third, ...others] = args;
  if (name === 'METRICS' && args.length === 0) return source.metrics();
  if (name === 'MAX' && first && !second) return maximum(resolve(first, source));
  if (name === 'FILL' && first && second && !third) return fill(resolve(first, source), constant(second));
  if (name === 'IF' && first && second && third && others.length === 0) {
    const condition = single(resolve(first, source));
    if (condition === undefined) return undefined;
    return single(resolve(condition === 0 ? third : second, source));
  }
  if (name === 'INSIGHT_RULE_METRIC' && first?.kind === 'text' && second?.kind === 'text' && !third) {
    return source.insightRule(first.value, second.value);
  }
  throw new Error(`Metric math: ${name} with ${args.length} arguments is not supported.`);
};

/**
 * Returns the maximum of an array, ignoring missing data points. A single time series is not supported, because
 * CloudWatch would aggregate all of its periods.
 */
const maximum = (value: Value): DataPoint => {
  if (!Array.isArray(value)) throw new Error('Metric math: MAX of a single time series is not supported.');
  const present = value.filter((point) => point !== undefined);
  return present.length === 0 ? undefined : Math.max(...present);
};

const fill = (value: Value, filler: number): Value =>
  Array.isArray(value) ? value.map((point) => point ?? filler) : (value ?? filler);

const constant = (expression: Expression): number => {
  if (expression.kind !== 'number') throw new Error('Metric math: FILL is supported only with a number.');
  return expression.value;
};

const single = (value: Value): DataPoint => {
  if (Array.isArray(value)) throw new Error('Metric math: an array is used where a single time series is required.');
  return value;
};

/** The result is missing if an operand is missing or on division by zero. */
const operate = (operator: Operator, left: DataPoint, right: DataPoint): DataPoint => {
  if (left === undefined || right === undefined) return undefined;
  const result = OPERATIONS[operator](left, right);
  return Number.isFinite(result) ? result : undefined;
};

const OPERATIONS: Record<Operator, (left: number, right: number) => number> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '>=': (left, right) => Number(left >= right),
  AND: (left, right) => Number(left !== 0 && right !== 0),
};
