import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_PREFER_LENGTH, parsePreferences } from '../../shared/api/preferences.ts';

const parsed = (header?: string) => Object.fromEntries(parsePreferences(header));

describe('a Prefer header', () => {
  it.each([
    [undefined, {}],
    ['', {}],
    ['handling=strict', { handling: 'strict' }],
    ['Handling = "strict"', { handling: 'strict' }],
    ['handling=Strict', { handling: 'Strict' }],
    ['return=representation, handling=strict', { return: 'representation', handling: 'strict' }],
    ['return=representation,handling=strict;wait=5 ; x="a;b,c"', { return: 'representation', handling: 'strict' }],
    ['handling=lenient, handling=strict', { handling: 'lenient' }],
    ['handling, handling=strict', { handling: '' }],
    ['handling="", HANDLING=strict', { handling: '' }],
    [',, handling=strict ,', { handling: 'strict' }],
    ['x="a, handling=strict"', { x: 'a, handling=strict' }],
    [String.raw`x="a\", handling=strict", return=minimal`, { x: 'a", handling=strict', return: 'minimal' }],
    ['a b, handling=strict', { handling: 'strict' }],
    ['handling=strict=1, =2, handling="strict', {}],
  ])('has these preferences: %s', (header, preferences) => {
    expect(parsed(header)).toEqual(preferences);
  });

  it('is ignored if it is too long', () => {
    const header = 'handling=strict,'.padEnd(MAX_PREFER_LENGTH, 'x');
    expect(parsed(header)).toMatchObject({ handling: 'strict' });
    expect(parsed(`${header}x`)).toEqual({});
  });

  const characters = [..."!#$%&'*+-.^_`|~09azAZ"];
  const token = fc.string({ unit: fc.constantFrom(...characters), minLength: 1, maxLength: 5 });
  const space = fc.constantFrom('', ' ', '\t', ' \t ');
  const quoted = (text: string) => `"${text.replace(/["\\]/g, String.raw`\$&`)}"`;
  const word = fc.oneof(
    token.map((value) => ({ value, source: value })),
    fc
      .string({ unit: fc.constantFrom(...characters, ' ', ',', ';', '=', '"', '\\'), maxLength: 8 })
      .map((value) => ({ value, source: quoted(value) })),
  );
  const pair = fc.tuple(token, fc.option(word), space, space).map(([name, value, before, after]) => ({
    name,
    value: value?.value ?? '',
    source: value ? `${name}${before}=${after}${value.source}` : name,
  }));
  const preference = fc
    .tuple(pair, fc.array(fc.tuple(space, space, fc.option(pair)), { maxLength: 2 }))
    .map(([first, parameters]) => ({
      ...first,
      source: [first.source, ...parameters.map(([a, b, each]) => `${a};${b}${each?.source ?? ''}`)].join(''),
    }));

  it('in any form of RFC 7240 has the first value of each preference', () => {
    fc.assert(
      fc.property(fc.array(preference, { maxLength: 6 }), fc.array(space), (preferences, spaces) => {
        const header = preferences
          .map(({ source }, index) => `${spaces[index] ?? ''}${source}${spaces[index + 1] ?? ''}`)
          .join(',');
        const expected = preferences.toReversed().map(({ name, value }) => [name.toLowerCase(), value] as const);
        expect(parsePreferences(header)).toEqual(new Map(expected));
      }),
    );
  });

  it('of any text has only preferences whose names are tokens in lower case', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...characters, ' ', ',', ';', '=', '"', '\\', 'ä') }), (header) => {
        for (const name of parsePreferences(header).keys()) expect(name).toMatch(/^[!#$%&'*+\-.^_`|~0-9a-z]+$/);
      }),
    );
  });
});
