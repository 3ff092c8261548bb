import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonSources } from '../../shared/domain/json-source.ts';
import { runs } from '../support/quick-run.ts';

const HOSTILE_KEYS = [
  '',
  '0',
  '1',
  '__proto__',
  'constructor',
  '"',
  '\\',
  '\\"',
  'a\\',
  '{',
  '],',
  '\n',
  '\u2028',
  'ä😀',
];

const keys = fc.oneof(fc.constantFrom(...HOSTILE_KEYS), fc.string({ unit: 'binary', maxLength: 4 }));

/** Any JSON, as `JSON.stringify` writes it. Built as text, because an object literal loses the key `__proto__`. */
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc
      .oneof(fc.constant(null), fc.boolean(), fc.double({ noNaN: true, noDefaultInfinity: true }), keys)
      .map((value) => JSON.stringify(value)),
    fc.array(tie('json'), { maxLength: 4 }).map((entries) => `[${entries.join(',')}]`),
    fc
      .uniqueArray(fc.tuple(keys, tie('json')), { selector: ([key]) => key, maxLength: 5 })
      .map((entries) => `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`),
  ),
}));

const entriesOf = (value: unknown): [string, unknown][] =>
  typeof value === 'object' && value !== null ? Object.entries(value) : [];

/** Returns the paths of all values within a value. */
const pathsOf = (value: unknown): string[][] => [
  [],
  ...entriesOf(value).flatMap(([key, below]) => pathsOf(below).map((path) => [key, ...path])),
];

/** Returns the JSON at a path, found by parsing. */
const parsedSource = (text: string, path: readonly string[]): string | undefined => {
  let value: unknown = JSON.parse(text);
  for (const key of path) {
    const entry = entriesOf(value).find(([name]) => name === key);
    if (!entry) return undefined;
    value = entry[1];
  }
  return JSON.stringify(value);
};

describe('jsonSources', () => {
  it('finds the same values as parsing and indexing, for any JSON and any paths at once', () => {
    const paths = fc.array(fc.array(keys, { maxLength: 4 }), { maxLength: 5 });
    fc.assert(
      fc.property(json, paths, (text, anyPaths) => {
        const existing = pathsOf(JSON.parse(text));
        const missing = existing.map((path) => [...path, 'missing']);
        const all = [...existing, ...missing, ...anyPaths, ...existing];
        const normalized = JSON.stringify(JSON.parse(text));
        expect(jsonSources(normalized, all)).toEqual(all.map((path) => parsedSource(text, path)));
      }),
      { numRuns: runs(500) },
    );
  });

  it('preserves the digits of numbers and the escapes of strings', () => {
    const text = String.raw`{"a":1.0,"b":[12345678901234567890,-0,1E+2],"c":"\u00e4\/"}`;
    expect(jsonSources(text, [['a'], ['b', '0'], ['b', '1'], ['b', '2'], ['c'], ['b']])).toEqual([
      '1.0',
      '12345678901234567890',
      '-0',
      '1E+2',
      String.raw`"\u00e4\/"`,
      '[12345678901234567890,-0,1E+2]',
    ]);
  });

  it('finds no value below a string, and none at a key that the prototype of objects has', () => {
    expect(jsonSources('{"a":"text"}', [['a', '0'], ['a', 'length'], ['toString']])).toEqual(Array(3).fill(undefined));
  });

  it('reads deeply nested JSON, and finds values below at most 100 keys', () => {
    const nested = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
    const [atLimit, beyond] = jsonSources(
      nested,
      [100, 101].map((count) => Array<string>(count).fill('a')),
    );
    expect(atLimit).toBe(nested.slice(500, -100));
    expect(beyond).toBeUndefined();
  });
});
