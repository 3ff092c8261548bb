import { describe, expect, it } from 'vitest';
import { peakConcurrency } from './concurrency.ts';
import { MetricStore, MINUTE_MS } from './metric-store.ts';

const metric = { namespace: 'N', name: 'm', dimensions: { a: '1', b: '2' } };

const storeOf = (...values: number[]) => {
  const store = new MetricStore();
  for (const value of values) store.put({ metric, value, timestampMs: 0 });
  return (statistic: string) => store.statistic(metric, statistic, 0, MINUTE_MS);
};

describe('the statistics of a metric', () => {
  it.each([
    ['Sum', 10],
    ['SampleCount', 4],
    ['Average', 2.5],
    ['Maximum', 4],
    ['Minimum', 1],
    ['p50', 2],
    ['p99', 4],
  ])('include all values of the period: %s', (statistic, expected) => {
    expect(storeOf(3, 1, 4, 2)(statistic)).toBe(expected);
  });

  it('are undefined without values of the same dimensions', () => {
    const store = new MetricStore();
    store.put({ metric, value: 1, timestampMs: 0 });
    expect(store.statistic(metric, 'Sum', MINUTE_MS, 2 * MINUTE_MS)).toBeUndefined();
    expect(store.statistic({ ...metric, dimensions: { a: '1' } }, 'Sum', 0, MINUTE_MS)).toBeUndefined();
    expect(store.statistic({ ...metric, dimensions: { b: '2', a: '1' } }, 'Sum', 0, MINUTE_MS)).toBe(1);
  });

  it('exclude an incomplete minute', () => {
    const store = new MetricStore();
    store.put({ metric, value: 1, timestampMs: 0 });
    store.put({ metric, value: 2, timestampMs: MINUTE_MS });
    expect(store.statistic(metric, 'Sum', 0, 2 * MINUTE_MS - 1)).toBe(1);
  });

  it('reject an unsupported statistic', () => {
    expect(() => storeOf(1)('TM(10%:90%)')).toThrow('statistic TM(10%:90%) is not supported');
  });
});

describe('the concurrency of invocations', () => {
  it('is the maximum number of overlapping invocations', () => {
    expect(
      peakConcurrency([
        { startMs: 0, endMs: 10 },
        { startMs: 5, endMs: 15 },
        { startMs: 10, endMs: 20 },
      ]),
    ).toBe(2);
    expect(peakConcurrency([])).toBe(0);
  });
});
