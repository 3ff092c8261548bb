import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DataPoint, evaluateExpression } from '../../../../bin/local/aws/cloudwatch/metric-math.ts';
import { parseExpression } from '../../../../bin/local/aws/cloudwatch/metric-math-syntax.ts';

/** The data point of an expression over these metrics. */
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
    ['-2 + 5', 3],
    ['7 / 2', 3.5],
    ['1 < 2', 1],
    ['2 <= 1', 0],
    ['1 + 1 == 2 AND 3 > 4', 0],
    ['1 == 1 OR 1 == 2 AND 1 == 3', 1],
    ['0 || 2', 1],
    ['5 && 2', 1],
  ])('computes %s', (text, expected) => {
    expect(evaluate(text)).toBe(expected);
  });

  it('has no data point where an operand has none, or where it divides by zero', () => {
    expect(evaluate('a + b', { a: 1, b: undefined })).toBeUndefined();
    expect(evaluate('a / b', { a: 1, b: 0 })).toBeUndefined();
  });

  it('fills what is missing, of one metric and of an array', () => {
    expect(evaluate('FILL(a, 3) + 1', { a: undefined })).toBe(4);
    expect(evaluate('SUM(FILL(METRICS(), 0))', { a: undefined, b: undefined })).toBe(0);
    expect(evaluate('MAX([FILL(a, 0), FILL(b, 0) - 900])', { a: 5, b: undefined })).toBe(5);
  });

  it('leaves missing data points out of a sum and a maximum, which have none only if all are missing', () => {
    expect(evaluate('SUM(METRICS())', { a: 2, b: undefined, c: 3 })).toBe(5);
    expect(evaluate('MAX(METRICS())', { a: 2, b: undefined, c: 3 })).toBe(3);
    expect(evaluate('MAX(METRICS())', { a: undefined })).toBeUndefined();
  });

  it('decides by a condition, and has no data point where the condition has none', () => {
    expect(evaluate('IF(a >= 5, 100 * a / b, 0)', { a: 5, b: 10 })).toBe(50);
    expect(evaluate('IF(a >= 5, 100 * a / b, 0)', { a: 4, b: undefined })).toBe(0);
    expect(evaluate('IF(a >= 5, 1, 0)', { a: undefined })).toBeUndefined();
  });

  it('asks for the metric of an insight rule', () => {
    expect(evaluate('INSIGHT_RULE_METRIC("rule", "UniqueContributors") + 1')).toBe(8);
  });

  it.each([
    'RATE(a)',
    'SUM(a)',
    'MAX(a, b)',
    'FILL(a, REPEAT)',
    'METRICS("a")',
    'ANOMALY_DETECTION_BAND(a)',
    'IF(a, 1)',
  ])('refuses a function, or a use of one, that is not known: %s', (text) => {
    expect(() => evaluate(text, { a: 1, b: 2 })).toThrow(/is not supported|is supported only with/);
  });

  it.each(['', '1 +', '(1', '[1, 2', 'IF(1, 2', 'a b', '1 ? 2', 'AND 1', ')'])(
    'refuses what is no expression: %s',
    (text) => {
      expect(() => parseExpression(text)).toThrow(SyntaxError);
    },
  );

  it('refuses an array where one time series belongs', () => {
    expect(() => evaluate('METRICS() > 1', { a: 1, b: 2 })).toThrow('an array is used');
  });

  it('computes any sum of products as arithmetic does', () => {
    const product = fc.array(fc.integer({ min: 0, max: 99 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(product, { minLength: 1, maxLength: 4 }), (sum) => {
        const expected = sum.reduce((total, factors) => total + factors.reduce((one, other) => one * other), 0);
        expect(evaluate(sum.map((factors) => factors.join(' * ')).join(' + '))).toBe(expected);
      }),
    );
  });
});
