import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { collection, parsePage } from '../../shared/api/paging.ts';

const href = 'https://api.example.com/v1.0/acme/notifications';

describe('the response body of a list operation', () => {
  const self = (query = '') => ({ href, query: new URLSearchParams(query) });

  it('has no next marker and no next link on the last page', () => {
    expect(collection({ values: ['a', 'b'], next: null }, { limit: 50, marker: null }, self())).toEqual({
      values: ['a', 'b'],
      metadata: { count: 2, limit: 50, marker: null, next_marker: null, next_href: null },
    });
  });

  it('links to the next page and repeats limit and marker', () => {
    const { metadata } = collection({ values: ['a'], next: 'ntB' }, { limit: 1, marker: 'ntA' }, self('marker=ntA'));
    expect(metadata).toEqual({
      count: 1,
      limit: 1,
      marker: 'ntA',
      next_marker: 'ntB',
      next_href: `${href}?marker=ntB&limit=1`,
    });
  });

  it('links to a page with the same limit and filters, starting at the next marker', () => {
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
