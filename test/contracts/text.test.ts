import { describe, expect, it } from 'vitest';
import { parseNotification } from '../../shared/contracts/notification.ts';
import { entries, webhookNotification } from '../support/notifications.ts';
import { rejectionDetails } from '../support/rejection.ts';

const LONE_SURROGATE = 'must be well-formed Unicode, without lone surrogates';

const withDetails = (more: object) =>
  parseNotification({ ...webhookNotification(), details: { ...webhookNotification().details, ...more } });
const withMetadata = (metadata: unknown) => parseNotification({ ...webhookNotification(), metadata });

const maps = [
  { map: 'details', parse: withDetails, maxLength: 4096, fieldCount: 1 },
  { map: 'metadata', parse: withMetadata, maxLength: 255, fieldCount: 0 },
] as const;

describe.each(maps)('$map', ({ map, parse, maxLength, fieldCount }) => {
  it('accepts up to 256 entries', () => {
    expect(rejectionDetails(parse(entries(256 - fieldCount, 'v')))).toBeUndefined();
    expect(rejectionDetails(parse(entries(257 - fieldCount, 'v')))).toBe(`${map}: must have at most 256 entries`);
  });

  it('accepts keys of 1 to 255 characters', () => {
    expect(rejectionDetails(parse({ a: 'v', ['k'.repeat(255)]: 'v', ['😀'.repeat(255)]: 'v' }))).toBeUndefined();
    expect(rejectionDetails(parse({ '': 'v' }))).toBe(`${map}.: has a key that must be 1 to 255 characters long`);
    expect(rejectionDetails(parse({ ['k'.repeat(256)]: 'v' }))).toBe(
      `${map}.${'k'.repeat(64)}…: has a key that must be 1 to 255 characters long`,
    );
    expect(rejectionDetails(parse({ ['😀'.repeat(256)]: 'v' }))).toMatch(
      /has a key that must be 1 to 255 characters long$/,
    );
  });

  it(`accepts values of 1 to ${maxLength} characters`, () => {
    expect(rejectionDetails(parse({ a: 'v', b: 'v'.repeat(maxLength), c: '😀'.repeat(maxLength) }))).toBeUndefined();
    const message = `${map}.a: must be 1 to ${maxLength} characters long`;
    expect(rejectionDetails(parse({ a: '' }))).toBe(message);
    expect(rejectionDetails(parse({ a: 'v'.repeat(maxLength + 1) }))).toBe(message);
    expect(rejectionDetails(parse({ a: '😀'.repeat(maxLength + 1) }))).toBe(message);
    expect(rejectionDetails(parse({ a: 'v'.repeat(5_000_000) }))).toBe(message);
  });

  it.each([[7], [0], [true], [false], [null], [['v']], [{ nested: 'v' }]])('rejects %o as a value', (value) => {
    expect(rejectionDetails(parse({ a: value }))).toBe(`${map}.a: must be a string`);
  });

  it('rejects NUL and lone surrogates in keys and values', () => {
    expect(rejectionDetails(parse({ a: 'x\0y' }))).toBe(`${map}.a: must not contain the NUL character`);
    expect(rejectionDetails(parse({ 'a\0': 'v' }))).toMatch(/has a key that must not contain the NUL character$/);
    expect(rejectionDetails(parse({ a: 'x\ud83d' }))).toBe(`${map}.a: ${LONE_SURROGATE}`);
    expect(rejectionDetails(parse({ '\ude00a': 'v' }))).toMatch(new RegExp(`has a key that ${LONE_SURROGATE}$`));
  });

  it('reports every invalid entry', () => {
    expect(rejectionDetails(parse({ a: '', b: 1, c: 'fine' }))).toBe(
      `${map}.a: must be 1 to ${maxLength} characters long; ${map}.b: must be a string`,
    );
  });
});

describe('the error message', () => {
  it('truncates long field names', () => {
    const longKeys = Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`${i}${'😀'.repeat(1_000)}`, 'v']));
    expect(rejectionDetails(withMetadata(longKeys))?.length).toBeLessThan(60_000);
  });

  it('is well-formed for field names with lone surrogates', () => {
    const keys = [`${'a'.repeat(63)}😀${'b'.repeat(300)}`, '\ud800', `${'a'.repeat(300)}\udc00`];
    for (const key of keys) expect(rejectionDetails(withMetadata({ [key]: 'v' }))?.isWellFormed()).toBe(true);
  });
});
