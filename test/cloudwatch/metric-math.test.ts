import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DataPoint, evaluateExpression } from './metric-math.ts';
import { parseExpression } from './metric-math-syntax.ts';

/** Evaluates an expression with the given metrics. */
const evaluate = (text: string, metrics: Record<string, DataPoint> = {}) =>
  evaluateExpression(parseExpression(text), {
    reference(id) {
      if (!(id in metrics)) throw new Error(`There is no ${id}.`);
      return metrics[id];
    },
    metrics: () => Object.values(metrics),
    insightRule: (ruleName, metric) => (ruleName === 'rule' && metric === 'UniqueContributors' ? 7 : undefined),
  });

describe('metric math', () => {
  it.each([
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['10 - 4 - 3', 3],
    ['7 / 2', 3.5],
    ['1 + 1 >= 2 AND 3 >= 4', 0],
    ['2 * 2 >= 3 + 1', 1],
  ])('computes %s', (text, expected) => {
    expect(evaluate(text)).toBe(expected);
  });

  it('returns no data point if an operand is missing or on division by zero', () => {
    expect(evaluate('a + b', { a: 1, b: undefined })).toBeUndefined();
    expect(evaluate('a / b', { a: 1, b: 0 })).toBeUndefined();
  });

  it('fills missing data points of a metric and of an array', () => {
    expect(evaluate('FILL(a, 3) + 1', { a: undefined })).toBe(4);
    expect(evaluate('MAX(FILL(METRICS(), 0))', { a: undefined, b: undefined })).toBe(0);
    expect(evaluate('MAX([FILL(a, 0), FILL(b, 0) - 900])', { a: 5, b: undefined })).toBe(5);
  });

  it('ignores missing data points in MAX unless all are missing', () => {
    expect(evaluate('MAX(METRICS())', { a: 2, b: undefined, c: 3 })).toBe(3);
    expect(evaluate('MAX(METRICS())', { a: undefined })).toBeUndefined();
  });

  it('evaluates IF, without a data point if the condition has none', () => {
    expect(evaluate('IF(a >= 5, 100 * a / b, 0)', { a: 5, b: 10 })).toBe(50);
    expect(evaluate('IF(a >= 5, 100 * a / b, 0)', { a: 4, b: undefined })).toBe(0);
    expect(evaluate('IF(a >= 5, 1, 0)', { a: undefined })).toBeUndefined();
  });

  it('evaluates the metric of an insight rule', () => {
    expect(evaluate('INSIGHT_RULE_METRIC("rule", "UniqueContributors") + 1')).toBe(8);
  });

  it.each([
    'RATE(a)',
    'MAX(a)',
    'MAX(a, b)',
    'FILL(a, REPEAT)',
    'METRICS("a")',
    'ANOMALY_DETECTION_BAND(a)',
    'IF(a, 1)',
  ])('rejects an unsupported function or argument: %s', (text) => {
    expect(() => evaluate(text, { a: 1, b: 2 })).toThrow(/is not supported|is supported only with/);
  });

  it.each(['', '1 +', '(1', '[1, 2', 'IF(1, 2', 'a b', '1 ? 2', 'AND 1', ')'])(
    'rejects an invalid expression: %s',
    (text) => {
      expect(() => parseExpression(text)).toThrow(SyntaxError);
    },
  );

  it('rejects an array where a single time series is required', () => {
    expect(() => evaluate('METRICS() >= 1', { a: 1, b: 2 })).toThrow('an array is used');
  });

  it('computes sums of products with the usual precedence', () => {
    const product = fc.array(fc.integer({ min: 0, max: 99 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(product, { minLength: 1, maxLength: 4 }), (sum) => {
        const expected = sum.reduce((total, factors) => total + factors.reduce((a, b) => a * b), 0);
        expect(evaluate(sum.map((factors) => factors.join(' * ')).join(' + '))).toBe(expected);
      }),
    );
  });
});
