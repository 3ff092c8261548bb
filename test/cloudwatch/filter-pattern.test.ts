import { FilterPattern } from 'aws-cdk-lib/aws-logs';
import { describe, expect, it } from 'vitest';
import { matchesPattern, parseFilterPattern } from './filter-pattern.ts';

const matches = (pattern: string, line: unknown) => matchesPattern(parseFilterPattern(pattern), line);

describe('a filter pattern', () => {
  it('compares a field with a string', () => {
    expect(matches('{ $.type = "a.b" }', { type: 'a.b' })).toBe(true);
    expect(matches('{ $.type = "a.b" }', { type: 'other' })).toBe(false);
    expect(matches('{$.a.b!="x"}', { a: { b: 'y' } })).toBe(true);
    expect(matches('{$.a.b!="x"}', { a: { b: 'x' } })).toBe(false);
  });

  it('compares the start of a field with a string that ends with a wildcard', () => {
    expect(matches('{ $.status = "5*" }', { status: '503' })).toBe(true);
    expect(matches('{ $.status = "5*" }', { status: '450' })).toBe(false);
    expect(matches('{ $.status = "5*" }', { status: 503 })).toBe(false);
    expect(matches('{ $.status != "5*" }', { status: '503' })).toBe(false);
  });

  it('matches only if all of its conditions hold', () => {
    const pattern = FilterPattern.all(
      FilterPattern.stringValue('$.type', '=', 'report'),
      FilterPattern.stringValue('$.record.status', '!=', 'success'),
    ).logPatternString;
    expect(matches(pattern, { type: 'report', record: { status: 'timeout' } })).toBe(true);
    expect(matches(pattern, { type: 'report', record: { status: 'success' } })).toBe(false);
    expect(matches(pattern, { type: 'start', record: { status: 'timeout' } })).toBe(false);
  });

  it.each([{}, { record: null }, { record: { status: 1 } }, { record: 'status' }])(
    'does not match a line without the field: %j',
    (line) => {
      expect(matches('{ $.record.status != "success" }', line)).toBe(false);
      expect(matches('{ $.record.status = "success" }', line)).toBe(false);
    },
  );

  it.each([
    'ERROR',
    '[a, b]',
    '{ }',
    '{ $.a = 1 }',
    '{ $.a = x* }',
    '{ $.a = "*x" }',
    '{ $.a = "x**" }',
    '{ $.a >= 500 }',
    '{ $.a = %x% }',
    '{ $.a IS NULL }',
    '{ $.a[0] = "x" }',
    '{ ($.a = "x") || ($.b = "y") }',
    '{ (($.a = "x") && ($.b = "y")) }',
  ])('is rejected if its syntax is not supported: %s', (pattern) => {
    expect(() => parseFilterPattern(pattern)).toThrow(SyntaxError);
  });
});
