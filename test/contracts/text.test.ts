import { describe, expect, it } from 'vitest';
import { parseNotification } from '../../shared/contracts/notification.ts';
import { entries, webhookNotification } from '../support/notifications.ts';
import { rejectionDetails } from '../support/rejection.ts';

const LONE_SURROGATE = 'must be well-formed Unicode, without lone surrogates';

const withDetails = (more: object) =>
  parseNotification({ ...webhookNotification(), details: { ...webhookNotification().details, ...more } });
const withMetadata = (metadata: unknown) => parseNotification({ ...webhookNotification(), metadata });

const maps = [
  { map: 'details', parse: withDetails, longest: 4096, own: 1 },
  { map: 'metadata', parse: withMetadata, longest: 255, own: 0 },
] as const;

describe.each(maps)('$map', ({ map, parse, longest, own }) => {
  it('may have 256 entries and no more', () => {
    expect(rejectionDetails(parse(entries(256 - own, 'v')))).toBeUndefined();
    expect(rejectionDetails(parse(entries(257 - own, 'v')))).toBe(`${map}: must have at most 256 entries`);
  });

  it('may have keys of 1 to 255 characters', () => {
    expect(rejectionDetails(parse({ a: 'v', ['k'.repeat(255)]: 'v', ['😀'.repeat(255)]: 'v' }))).toBeUndefined();
    expect(rejectionDetails(parse({ '': 'v' }))).toBe(`${map}.: has a key that must be 1 to 255 characters long`);
    expect(rejectionDetails(parse({ ['k'.repeat(256)]: 'v' }))).toBe(
      `${map}.${'k'.repeat(64)}…: has a key that must be 1 to 255 characters long`,
    );
    expect(rejectionDetails(parse({ ['😀'.repeat(256)]: 'v' }))).toMatch(
      /has a key that must be 1 to 255 characters long$/,
    );
  });

  it(`may have values of 1 to ${longest} characters`, () => {
    expect(rejectionDetails(parse({ a: 'v', b: 'v'.repeat(longest), c: '😀'.repeat(longest) }))).toBeUndefined();
    const told = `${map}.a: must be 1 to ${longest} characters long`;
    expect(rejectionDetails(parse({ a: '' }))).toBe(told);
    expect(rejectionDetails(parse({ a: 'v'.repeat(longest + 1) }))).toBe(told);
    expect(rejectionDetails(parse({ a: '😀'.repeat(longest + 1) }))).toBe(told);
    expect(rejectionDetails(parse({ a: 'v'.repeat(5_000_000) }))).toBe(told);
  });

  it.each([[7], [0], [true], [false], [null], [['v']], [{ nested: 'v' }]])('refuses %o as a value', (value) => {
    expect(rejectionDetails(parse({ a: value }))).toBe(`${map}.a: must be a string`);
  });

  it('refuses a NUL, and what is no Unicode, in keys and in values', () => {
    expect(rejectionDetails(parse({ a: 'x\0y' }))).toBe(`${map}.a: must not contain the NUL character`);
    expect(rejectionDetails(parse({ 'a\0': 'v' }))).toMatch(/has a key that must not contain the NUL character$/);
    expect(rejectionDetails(parse({ a: 'x\ud83d' }))).toBe(`${map}.a: ${LONE_SURROGATE}`);
    expect(rejectionDetails(parse({ '\ude00a': 'v' }))).toMatch(new RegExp(`has a key that ${LONE_SURROGATE}$`));
  });

  it('takes control characters, quotes and markup as they are', () => {
    const values = { a: '\t\r\n\u0001\u007f', b: `"'<script>&amp;\\`, c: '\u202e\ufeff', 'a key.with "all"': 'v' };
    expect(parse(values)).toMatchObject({ success: true, data: { [map]: values } });
  });

  it('keeps keys that are names in JavaScript, in the order in which they came', () => {
    const text = '{"url":"https://a.example","__proto__":"p","constructor":"c","toString":"t","hasOwnProperty":"h"}';
    const parsed = parseNotification({ ...webhookNotification(), [map]: JSON.parse(text) });
    expect(JSON.stringify(parsed.data?.[map])).toBe(text);
  });

  it('tells every entry that failed', () => {
    expect(rejectionDetails(parse({ a: '', b: 1, c: 'fine' }))).toBe(
      `${map}.a: must be 1 to ${longest} characters long; ${map}.b: must be a string`,
    );
  });
});

describe('what a client is told', () => {
  it('stays small, however long the names of the fields are that failed', () => {
    const hostile = Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`${i}${'😀'.repeat(100_000)}`, 'v']));
    expect(rejectionDetails(withMetadata(hostile))?.length).toBeLessThan(60_000);
  });

  it('is well-formed, however the name of the field that failed is not', () => {
    const keys = [`${'a'.repeat(63)}😀${'b'.repeat(300)}`, '\ud800', `${'a'.repeat(300)}\udc00`];
    for (const key of keys) expect(rejectionDetails(withMetadata({ [key]: 'v' }))?.isWellFormed()).toBe(true);
  });
});
