import { describe, expect, it } from 'vitest';
import { embeddedMeasurements } from './embedded-metrics.ts';

const line = (rest: Record<string, unknown>, Dimensions = [['service', 'type']]) => ({
  _aws: {
    Timestamp: 5,
    CloudWatchMetrics: [
      {
        Namespace: 'N',
        Dimensions,
        Metrics: [
          { Name: 'count', Unit: 'Count' },
          { Name: 'latency', Unit: 'Milliseconds' },
        ],
      },
    ],
  },
  service: 's',
  type: 'sms',
  count: 3,
  latency: [10, 20],
  ...rest,
});

const metric = (name: string, dimensions: Record<string, string>) => ({ namespace: 'N', name, dimensions });

describe('a log line', () => {
  it('yields a measurement for each value of each metric and each dimension set', () => {
    const both = { service: 's', type: 'sms' };
    expect(embeddedMeasurements(line({}, [['service', 'type'], ['service']]))).toEqual([
      { metric: metric('count', both), value: 3, timestampMs: 5 },
      { metric: metric('latency', both), value: 10, timestampMs: 5 },
      { metric: metric('latency', both), value: 20, timestampMs: 5 },
      { metric: metric('count', { service: 's' }), value: 3, timestampMs: 5 },
      { metric: metric('latency', { service: 's' }), value: 10, timestampMs: 5 },
      { metric: metric('latency', { service: 's' }), value: 20, timestampMs: 5 },
    ]);
  });

  it('yields no measurements without an _aws member', () => {
    expect(embeddedMeasurements({ level: 'INFO', count: 3 })).toEqual([]);
  });

  it.each([
    ['a metric without a value', { count: undefined }],
    ['a metric that is not a number', { count: '3' }],
    ['more than 100 values of a metric', { latency: Array.from({ length: 101 }, () => 1) }],
    ['a dimension without a value', { type: undefined }],
    ['a dimension that is not text', { type: 3 }],
  ])('is rejected with %s', (_, rest) => {
    expect(() => embeddedMeasurements(line(rest))).toThrow();
  });
});
