import type { Expression, Operator } from './metric-math-syntax.ts';

/** A data point of one period: undefined where it is missing. */
export type DataPoint = number | undefined;

/** Where an expression gets its data points of the period that is evaluated. */
export type MathSource = {
  /** The data point of the metric or expression with this id; throws where there is none. */
  reference(id: string): DataPoint;
  /** The data points of all metrics that the alarm names, without its expressions. */
  metrics(): DataPoint[];
  /** A metric of a Contributor Insights rule. */
  insightRule(ruleName: string, metric: string): DataPoint;
};

type Value = DataPoint | DataPoint[];

/**
 * The data point of an expression for one period. All functions that the stack uses work period by period, so no time series
 * is needed: those that look across periods, and all others, are unknown here.
 *
 * @throws Error for an unknown function or a wrong argument
 */
export const evaluateExpression = (expression: Expression, source: MathSource): DataPoint =>
  single(resolve(expression, source));

const resolve = (expression: Expression, source: MathSource): Value => {
  if (expression.kind === 'number') return expression.value;
  if (expression.kind === 'text') throw new Error(`Metric math: the text "${expression.value}" is no value.`);
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
  if (name === 'SUM' && first && !second) return aggregate(name, resolve(first, source), (one, other) => one + other);
  if (name === 'MAX' && first && !second) return aggregate(name, resolve(first, source), Math.max);
  if (name === 'FILL' && first && second && !third) return fill(resolve(first, source), constant(second));
  if (name === 'IF' && first && second && third && others.length === 0) {
    const condition = single(resolve(first, source));
    if (condition === undefined) return undefined;
    return single(resolve(condition === 0 ? third : second, source));
  }
  if (name === 'INSIGHT_RULE_METRIC' && first?.kind === 'text' && second?.kind === 'text' && !third) {
    return source.insightRule(first.value, second.value);
  }
  throw new Error(`Metric math: ${name} with ${args.length} arguments is not known here.`);
};

/** Of an array: missing data points are left out. Of one time series it would be a single number for all periods. */
const aggregate = (name: string, value: Value, combine: (one: number, other: number) => number): DataPoint => {
  if (!Array.isArray(value)) throw new Error(`Metric math: ${name} of a single time series is not known here.`);
  const present = value.filter((point) => point !== undefined);
  return present.length === 0 ? undefined : present.reduce((one, other) => combine(one, other));
};

const fill = (value: Value, filler: number): Value =>
  Array.isArray(value) ? value.map((point) => point ?? filler) : (value ?? filler);

const constant = (expression: Expression): number => {
  if (expression.kind !== 'number') throw new Error('Metric math: FILL is known here with a number only.');
  return expression.value;
};

const single = (value: Value): DataPoint => {
  if (Array.isArray(value)) throw new Error('Metric math: an array stands where one time series belongs.');
  return value;
};

/** A data point that is missing on either side is missing in the result, and so is the result of a division by zero. */
const operate = (operator: Operator, left: DataPoint, right: DataPoint): DataPoint => {
  if (left === undefined || right === undefined) return undefined;
  const result = operations[operator](left, right);
  return Number.isFinite(result) ? result : undefined;
};

const operations: Record<Operator, (left: number, right: number) => number> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '^': (left, right) => left ** right,
  '==': (left, right) => Number(left === right),
  '!=': (left, right) => Number(left !== right),
  '<=': (left, right) => Number(left <= right),
  '>=': (left, right) => Number(left >= right),
  '<': (left, right) => Number(left < right),
  '>': (left, right) => Number(left > right),
  AND: (left, right) => Number(left !== 0 && right !== 0),
  OR: (left, right) => Number(left !== 0 || right !== 0),
};
