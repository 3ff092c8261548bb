import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { collection, parsePage } from '../../shared/contracts/collection.ts';

const page = (query: string) => parsePage(new URLSearchParams(query));
const href = 'https://api.example.com/v1.0/acme/notifications';

describe('the page that a query asks for', () => {
  it('is the first 50 where it says nothing', () => {
    expect(page('')).toEqual({ limit: 50, marker: null });
  });

  it.each([1, 2, 50, 999, 1000])('may have a limit of %i', (limit) => {
    expect(page(`limit=${limit}`)).toEqual({ limit, marker: null });
  });

  it.each(['0', '1001', '-1', '1.5', '1e2', '0x10', 'ten', '', '%20', '+5', '5%20', '10000', '٥', '9'.repeat(400)])(
    'cannot have a limit of "%s"',
    (limit) => {
      expect(() => page(`limit=${limit}`)).toThrow(
        expect.objectContaining({ type: 'invalidLimit', details: 'limit: must be a whole number from 1 to 1000' }),
      );
    },
  );

  it('starts at its marker, whether that exists or not', () => {
    expect(page('marker=ntNever&limit=3')).toEqual({ limit: 3, marker: 'ntNever' });
  });

  it('is the first one where the marker is empty', () => {
    expect(page('marker=')).toEqual({ limit: 50, marker: null });
  });

  it('ignores parameters that nobody knows', () => {
    expect(page('from=1&offset=20&Limit=7')).toEqual({ limit: 50, marker: null });
  });
});

describe('the envelope of a list', () => {
  const self = (query = '') => ({ href, query: new URLSearchParams(query) });

  it('has no next page on the last one', () => {
    expect(collection({ values: ['a', 'b'], next: null }, { limit: 50, marker: null }, self())).toEqual({
      values: ['a', 'b'],
      metadata: { count: 2, limit: 50, marker: null, next_marker: null, next_href: null },
    });
  });

  it('says where the next page is, and echoes limit and marker', () => {
    const { metadata } = collection({ values: ['a'], next: 'ntB' }, { limit: 1, marker: 'ntA' }, self('marker=ntA'));
    expect(metadata).toEqual({
      count: 1,
      limit: 1,
      marker: 'ntA',
      next_marker: 'ntB',
      next_href: `${href}?marker=ntB&limit=1`,
    });
  });

  it('keeps the filters of the request in the address of the next page, each once', () => {
    const { metadata } = collection(
      { values: ['a'], next: 'ntB' },
      { limit: 1, marker: null },
      self('id=ntA&id=ntB&limit=1&other=a%26b'),
    );
    const next = new URL(metadata.next_href ?? '');
    expect(next.searchParams.getAll('id')).toEqual(['ntA', 'ntB']);
    expect(next.searchParams.getAll('limit')).toEqual(['1']);
    expect(next.searchParams.getAll('marker')).toEqual(['ntB']);
    expect(next.searchParams.get('other')).toBe('a&b');
  });

  it('is empty with count 0 where there is nothing', () => {
    expect(collection({ values: [], next: null }, { limit: 50, marker: 'zzz' }, self()).metadata.count).toBe(0);
  });

  it('makes an address that asks for the same again from the next marker on, whatever the query was', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('id', 'a b', 'ä'), fc.string({ unit: 'binary' }))),
        fc.integer({ min: 1, max: 1000 }),
        fc.string({ unit: 'binary', minLength: 1 }),
        (filters, limit, next) => {
          const query = new URLSearchParams([...filters, ['limit', String(limit)]]);
          const { metadata } = collection({ values: [], next }, { limit, marker: null }, { href, query });
          const followed = new URL(metadata.next_href ?? '').searchParams;
          expect(parsePage(followed)).toEqual({ limit, marker: next });
          for (const name of ['id', 'a b', 'ä']) expect(followed.getAll(name)).toEqual(query.getAll(name));
        },
      ),
    );
  });
});
