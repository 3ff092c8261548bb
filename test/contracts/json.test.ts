import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonObject, parseJson } from '../../shared/contracts/json.ts';
import { forAll } from '../support/quick-run.ts';

const roundTrip = (text: string): string => JSON.stringify(parseJson(text));

const digits = (constraints: { minLength?: number; maxLength: number }) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), ...constraints });
const integer = fc.oneof(
  fc.constant('0'),
  fc.tuple(fc.constantFrom(...'123456789'), digits({ maxLength: 30 })).map((parts) => parts.join('')),
);
/** Any number of JSON, in any notation. */
const number = fc
  .tuple(
    fc.constantFrom('', '-'),
    integer,
    fc.option(digits({ minLength: 1, maxLength: 30 }), { nil: undefined }),
    fc.option(
      fc.tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), digits({ minLength: 1, maxLength: 4 })),
      {
        nil: undefined,
      },
    ),
  )
  .map(([sign, whole, places, exponent]) =>
    [sign, whole, places === undefined ? '' : `.${places}`, ...(exponent ?? [])].join(''),
  );

/** Strings that look like numbers, that contain quotes and backslashes, or that are anything else, as JSON. */
const string = fc
  .oneof(
    number,
    fc.uuid(),
    fc.string({ unit: fc.constantFrom('"', '\\', '1', '-', 'e', ':', ',', ']', '😀', '\ufffe') }),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('__proto__', 'constructor', 'rawJSON', '1000000000000000'),
  )
  .map((value) => JSON.stringify(value));

/**
 * Keys that JavaScript neither reorders nor drops. If an object had the key `\`, Node.js 24.21 reads another key that is
 * one escaped character, such as `"`, as `\` at the same place.
 */
const isStable = (keys: readonly string[]): boolean =>
  new Set(keys).size === keys.length && !keys.some((key) => /^"(?:\d+|\\.|\\u.{4})"$/.test(key));

const space = fc.constantFrom('', ' ', '\n\t', '\r ');
/** JSON in any form, with its form without white space. */
const { json } = fc.letrec<{ json: { text: string; compact: string } }>((tie) => {
  const spaced = (arbitrary: fc.Arbitrary<{ text: string; compact: string }>) =>
    fc.tuple(space, arbitrary, space).map(([before, { text, compact }, after]) => ({
      text: before + text + after,
      compact,
    }));
  const scalar = fc
    .oneof(number, string, fc.constantFrom('true', 'false', 'null'))
    .map((text) => ({ text, compact: text }));
  const list = fc.array(tie('json'), { maxLength: 5 }).map((items) => ({
    text: `[${items.map(({ text }) => text)}]`,
    compact: `[${items.map(({ compact }) => compact)}]`,
  }));
  const object = fc
    .array(fc.tuple(string, tie('json')), { maxLength: 5 })
    .filter((entries) => isStable(entries.map(([key]) => key)))
    .map((entries) => ({
      text: `{${entries.map(([key, { text }]) => `${key}:${text}`)}}`,
      compact: `{${entries.map(([key, { compact }]) => `${key}:${compact}`)}}`,
    }));
  return { json: spaced(fc.oneof({ maxDepth: 4 }, scalar, list, object)) };
});

describe('JSON', () => {
  it('survives a round trip with every digit of its numbers, in any notation and at any place', () => {
    forAll(1_000)(json, ({ text, compact }) => {
      expect(roundTrip(text)).toBe(compact);
    });
  });

  it('is valid if and only if JSON.parse accepts it', () => {
    const token = fc.oneof(
      number,
      string,
      fc.constantFrom(...'{}[],:"\\+-.eE01 ', 'null', 'x', '\n', '01', '1.', '.5', '1e', '"\\x"', '"\n"'),
    );
    const isAccepted = (parse: () => unknown): boolean => {
      try {
        parse();
        return true;
      } catch (error) {
        expect(error).toBeInstanceOf(SyntaxError);
        return false;
      }
    };
    forAll(2_000)(
      fc.oneof(
        fc.array(token, { maxLength: 6 }).map((tokens) => tokens.join('')),
        fc.tuple(json, fc.nat(), token).map(([{ text }, at, inserted]) => {
          const position = at % (text.length + 1);
          return text.slice(0, position) + inserted + text.slice(position);
        }),
      ),
      (text) => {
        expect(isAccepted(() => parseJson(text))).toBe(isAccepted(() => JSON.parse(text)));
      },
    );
  });
});

describe('numbers in an event', () => {
  it('are plain numbers if JavaScript writes them in the same way', () => {
    expect(parseJson('[{"timestamp":1700000000000,"t":0.25,"n":-3},12345678901234567890]')).toMatchObject([
      { timestamp: 1_700_000_000_000, t: 0.25, n: -3 },
      {},
    ]);
    expect(parseJson('9007199254740991')).toBe(Number.MAX_SAFE_INTEGER);
    expect(parseJson('0.30000000000000004')).toBe(0.1 + 0.2);
  });

  it('are no objects', () => {
    expect(['{}', '[]', 'null', '12345678901234567890'].map((text) => isJsonObject(parseJson(text)))).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});

it('other values in an event are nested at most as deep as the stack permits', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}12345678901234567890${']'.repeat(depth)}`;
  expect(roundTrip(nested(500))).toBe(nested(500));
  expect(() => parseJson(nested(100_000))).toThrow(RangeError);
});
