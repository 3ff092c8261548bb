import { describe, expect, it } from 'vitest';
import { MetricFilter } from './metric-filter.ts';

const transformation = { MetricNamespace: 'N', MetricName: 'crashes', MetricValue: '1' };
const properties = {
  LogGroupName: 'group',
  FilterPattern: '{ $.status = "timeout" }',
  MetricTransformations: [transformation],
};
const create = (declared: unknown) => new MetricFilter(declared, String);

describe('a metric filter', () => {
  it('measures 1 for each line that matches, without dimensions', () => {
    const filter = create(properties);
    expect(filter.logGroupName).toBe('group');
    const metric = { namespace: 'N', name: 'crashes', dimensions: {} };
    expect(filter.measurements({ status: 'timeout' }, 5)).toEqual([{ metric, value: 1, timestampMs: 5 }]);
    expect(filter.measurements({ status: 'success' }, 5)).toEqual([]);
  });

  it.each([
    ['another value', { MetricTransformations: [{ ...transformation, MetricValue: '$.bytes' }] }],
    ['a default value', { MetricTransformations: [{ ...transformation, DefaultValue: 0 }] }],
    ['dimensions', { MetricTransformations: [{ ...transformation, Dimensions: [{ Key: 'f', Value: '$.f' }] }] }],
    ['two metrics', { MetricTransformations: [transformation, transformation] }],
    ['another pattern', { FilterPattern: 'ERROR' }],
  ])('is rejected if it uses an unsupported feature: %s', (_, changed) => {
    expect(() => create({ ...properties, ...changed })).toThrow();
  });
});
