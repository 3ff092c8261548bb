import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../shared/contracts/json.ts';

const roundTrip = (text: string): string => JSON.stringify(parseJson(text));

/** Digits without leading zeros. */
const integerDigits = (maxLength: number) =>
  fc.oneof(fc.constant('0'), fc.stringMatching(new RegExp(`^[1-9][0-9]{0,${maxLength - 1}}$`)));
const fraction = fc.stringMatching(/^[0-9]{0,30}[1-9]$/);

/** Removes trailing zeros of a fraction. */
const withoutTrailingZeros = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);

describe('numbers in an event', () => {
  it('survive a round trip as integers of up to 30 digits', () => {
    fc.assert(
      fc.property(fc.boolean(), integerDigits(30), (negative, digits) => {
        const text = negative && digits !== '0' ? `-${digits}` : digits;
        expect(roundTrip(`{"id":${text}}`)).toBe(`{"id":${text}}`);
      }),
      { numRuns: 500 },
    );
  });

  it('survive a round trip as decimals of up to 30 places', () => {
    const decimal = fc.tuple(integerDigits(12), fraction).map(([integer, places]) => `${integer}.${places}`);
    fc.assert(
      fc.property(fc.array(decimal, { minLength: 1, maxLength: 5 }), (numbers) => {
        const read: unknown = JSON.parse(roundTrip(`[${numbers}]`).replace(/[^[\],]+/g, '"$&"'));
        expect(read).toEqual(
          numbers.map((number) => (Number(number) < 1e-6 ? expect.anything() : withoutTrailingZeros(number))),
        );
        expect(JSON.parse(roundTrip(`[${numbers}]`))).toEqual(numbers.map(Number));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    '9007199254740993',
    '-9223372036854775808',
    '18446744073709551615',
    '1700000000000.123456',
    '0.1234567890123456789',
    '1e400',
    '-1E+999',
    '5e-324',
    '1.00000000000000000001',
  ])('survive a round trip unchanged: %s', (text) => {
    expect(roundTrip(`{"data":${text}}`)).toBe(`{"data":${text}}`);
  });

  it('are plain numbers if a double can represent them', () => {
    expect(parseJson('{"timestamp":1700000000000,"t":0.25,"n":-3}')).toEqual({
      timestamp: 1_700_000_000_000,
      t: 0.25,
      n: -3,
    });
  });
});

describe('other values in an event', () => {
  it('survive a round trip unchanged, with and without a long number in the event', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const text = JSON.stringify(value);
        expect(roundTrip(text)).toBe(text);
        expect(roundTrip(`[12345678901234567890,${text}]`)).toBe(`[12345678901234567890,${text}]`);
      }),
      { numRuns: 300 },
    );
  });

  it('stay strings if they look like long numbers', () => {
    expect(parseJson('["12345678901234567890", "1e5"]')).toEqual(['12345678901234567890', '1e5']);
  });

  it('keep keys such as __proto__', () => {
    const text = '{"__proto__":{"a":12345678901234567890},"constructor":1,"toString":null}';
    expect(roundTrip(text)).toBe(text);
  });

  it.each(['', '{', 'undefined', "{'a':1}", '[1,]', '01', 'NaN', '12345678901234567890x'])(
    'are rejected if they are not JSON: %s',
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    },
  );
});
