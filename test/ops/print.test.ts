import fc from 'fast-check';
import { expect, it } from 'vitest';
import { toJson } from '../../bin/ops/print.ts';
import { runs } from '../support/quick-run.ts';

/** Characters that a terminal interprets, or that reorder or hide text. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const text = fc.string({
  unit: fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.nat(0xff).map((code) => String.fromCharCode(code)),
  ),
});

it('JSON contains no character that a terminal interprets, and is equal when it is parsed', () => {
  fc.assert(
    fc.property(fc.dictionary(text, fc.array(text)), (value) => {
      const json = toJson(value);
      expect(json).not.toMatch(UNSAFE);
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)));
    }),
    { numRuns: runs(1_000) },
  );
  expect(toJson({ label: 'a\u009b2Jb\u007f' })).toBe('{"label":"a\\u009b2Jb\\u007f"}');
  expect(toJson('\u{e0041}')).toBe('"\\udb40\\udc41"');
});

it('JSON contains the digits of numbers that a double cannot represent', () => {
  expect(toJson({ id: JSON.rawJSON('9007199254740993') })).toBe('{"id":9007199254740993}');
});
