import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../shared/contracts/json.ts';

const roundTrip = (text: string): string => JSON.stringify(parseJson(text));

/** Digits without leading zeros. */
const whole = (maxLength: number) =>
  fc.oneof(fc.constant('0'), fc.stringMatching(new RegExp(`^[1-9][0-9]{0,${maxLength - 1}}$`)));
const fraction = fc.stringMatching(/^[0-9]{0,30}[1-9]$/);

/** Drops what does not change a number: zeros at the end of its fraction. */
const plain = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);

describe('the numbers of an alert', () => {
  it('reach the receiver to the last digit, integers of up to 30 digits', () => {
    fc.assert(
      fc.property(fc.boolean(), whole(30), (negative, digits) => {
        const text = negative && digits !== '0' ? `-${digits}` : digits;
        expect(roundTrip(`{"id":${text}}`)).toBe(`{"id":${text}}`);
      }),
      { numRuns: 500 },
    );
  });

  it('reach the receiver to the last digit, decimals of up to 30 places', () => {
    const decimal = fc.tuple(whole(12), fraction).map(([integer, places]) => `${integer}.${places}`);
    fc.assert(
      fc.property(fc.array(decimal, { minLength: 1, maxLength: 5 }), (numbers) => {
        const read: unknown = JSON.parse(roundTrip(`[${numbers}]`).replace(/[^[\],]+/g, '"$&"'));
        expect(read).toEqual(numbers.map((number) => (Number(number) < 1e-6 ? expect.anything() : plain(number))));
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
  ])('reach the receiver as they came: %s', (text) => {
    expect(roundTrip(`{"data":${text}}`)).toBe(`{"data":${text}}`);
  });

  it('are numbers, as ever, where a double holds them', () => {
    expect(parseJson('{"timestamp":1700000000000,"t":0.25,"n":-3}')).toEqual({
      timestamp: 1_700_000_000_000,
      t: 0.25,
      n: -3,
    });
  });
});

describe('all else in an alert', () => {
  it('comes through unchanged, whether there is a long number beside it or not', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const text = JSON.stringify(value);
        expect(roundTrip(text)).toBe(text);
        expect(roundTrip(`[12345678901234567890,${text}]`)).toBe(`[12345678901234567890,${text}]`);
      }),
      { numRuns: 300 },
    );
  });

  it('may be text that looks like a long number, which stays text', () => {
    expect(parseJson('["12345678901234567890", "1e5"]')).toEqual(['12345678901234567890', '1e5']);
  });

  it('may have keys that are names in JavaScript', () => {
    const text = '{"__proto__":{"a":12345678901234567890},"constructor":1,"toString":null}';
    expect(roundTrip(text)).toBe(text);
  });

  it.each(['', '{', 'undefined', "{'a':1}", '[1,]', '01', 'NaN', '12345678901234567890x'])(
    'is refused where it is no JSON: %s',
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    },
  );
});
