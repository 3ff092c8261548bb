import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { collection, parsePage, takePage } from '../../shared/api/request.ts';
import { ok } from '../../shared/api/response.ts';
import { LAMBDA_LIMIT_BYTES, lambdaBytes } from '../support/lambda-response.ts';
import { forAll } from '../support/quick-run.ts';

const records = (texts: string[]) => texts.map((text, index) => ({ id: `nt${index}`, text }));
const page = async (texts: string[], limit = 50) => {
  const { values, next } = await takePage(records(texts), limit);
  return { ids: values.map(({ id }) => id), next };
};

describe('a page', () => {
  it('has at most `limit` records and the ID of the next one, if there is one', async () => {
    expect(await page(['a', 'b', 'c'], 2)).toEqual({ ids: ['nt0', 'nt1'], next: 'nt2' });
    expect(await page(['a', 'b'], 2)).toEqual({ ids: ['nt0', 'nt1'], next: null });
    expect(await page(['a'], 2)).toEqual({ ids: ['nt0'], next: null });
    expect(await page([], 2)).toEqual({ ids: [], next: null });
  });

  it('is shorter if the response would be too large', async () => {
    const megabyte = 'x'.repeat(1_000_000);
    expect(await page(Array.from({ length: 8 }, () => megabyte))).toEqual({
      ids: ['nt0', 'nt1', 'nt2', 'nt3', 'nt4'],
      next: 'nt5',
    });
  });

  it.each([
    ['plain', 'x'],
    ['four bytes', '😀'],
    ['escaped twice', '"'],
    ['escaped', '\u0001'],
    ['line breaks', '\n'],
  ])('fits into a Lambda response, regardless of its characters: %s', async (_, character) => {
    const texts = Array.from({ length: 60 }, () => character.repeat(100_000));
    const { values } = await takePage(records(texts), 1_000);
    expect(values.length).toBeGreaterThan(0);
    expect(lambdaBytes(ok({ values, metadata: {} }))).toBeLessThan(LAMBDA_LIMIT_BYTES);
  });

  it('has one record even if the record is too large', async () => {
    expect(await page(['x'.repeat(7_000_000), 'b'])).toEqual({ ids: ['nt0'], next: 'nt1' });
  });

  it('takes no more records than it needs, and closes the iterator', async () => {
    const taken: number[] = [];
    const close = vi.fn();
    async function* endless() {
      try {
        for (let count = 0; ; count++) {
          taken.push(count);
          yield { id: `nt${count}` };
        }
      } finally {
        close();
      }
    }
    await takePage(endless(), 3);
    expect(taken).toEqual([0, 1, 2, 3]);
    expect(close).toHaveBeenCalledTimes(1);
  });
});

const parse = (query: string) => parsePage(new URLSearchParams(query));

describe('parsePage', () => {
  it.each([
    ['', 50, null],
    ['limit=1', 1, null],
    ['limit=1000', 1_000, null],
    ['marker=ntNever&limit=3', 3, 'ntNever'],
    ['marker=', 50, null],
    ['from=1&offset=20&Limit=7', 50, null],
  ])('accepts limit and marker, with defaults, beside other parameters: "%s"', (text, limit, marker) => {
    expect(parse(text)).toEqual({ limit, marker });
  });

  it.each(['0', '1001', '-1', '1.5', '1e2', '0x10', 'ten', '', '%20', '+5', '5%20', '10000', '٥', '9'.repeat(400)])(
    'rejects a limit of "%s"',
    (limit) => {
      expect(() => parse(`limit=${limit}`)).toThrow(
        expect.objectContaining({ type: 'invalidLimit', details: 'limit: must be a whole number from 1 to 1000' }),
      );
    },
  );
});

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
    forAll()(
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
    );
  });
});
