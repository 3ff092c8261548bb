import { describe, expect, it } from 'vitest';
import { nearestName, unknownNameErrors } from '../../shared/contracts/unknown-names.ts';

const known = ['limit', 'marker', 'alarm_id', 'from', 'to'];

describe('the nearest known name', () => {
  it.each([
    ['limt', 'limit'],
    ['LIMIT', 'limit'],
    ['alarmId', 'alarm_id'],
    ['alarm-ids', 'alarm_id'],
    ['form', 'from'],
    ['fields', undefined],
    ['', undefined],
  ])('of %j is %s', (name, nearest) => {
    expect(nearestName(name, known)).toBe(nearest);
  });

  it('of a long name is that of its beginning, so that comparing takes no time', () => {
    const name = 'a'.repeat(64);
    expect(nearestName(`${name.slice(1)}bc${'d'.repeat(1_000_000)}`, [name])).toBe(name);
  });
});

describe('the errors of unknown names', () => {
  it('name each once, with the nearest known name or all', () => {
    expect(unknownNameErrors('query parameter', ['limit', 'limt', 'limt', 'fields'], known)).toEqual([
      'limt: is an unknown query parameter (did you mean limit?)',
      'fields: is an unknown query parameter (known: limit, marker, alarm_id, from, to)',
    ]);
    expect(unknownNameErrors('attribute', ['a'], [])).toEqual(['a: is an unknown attribute (known: none)']);
    expect(unknownNameErrors('attribute', known, known)).toEqual([]);
  });

  it('are at most ten of bounded length, and say how many more there are', () => {
    const names = Array.from({ length: 12 }, (_, index) => `${index}${'x'.repeat(100_000)}`);
    const errors = unknownNameErrors('attribute', names, known);
    expect(errors).toHaveLength(11);
    expect(errors.at(-1)).toBe('2 more are unknown');
    expect(errors.join('; ').length).toBeLessThan(2_000);
  });
});
