import { describe, expect, it } from 'vitest';
import { parsePage } from '../../shared/api/paging.ts';

const page = (query: string) => parsePage(new URLSearchParams(query));

describe('parsePage', () => {
  it('defaults to the first page of 50 records', () => {
    expect(page('')).toEqual({ limit: 50, marker: null });
  });

  it.each([1, 2, 50, 999, 1000])('accepts a limit of %i', (limit) => {
    expect(page(`limit=${limit}`)).toEqual({ limit, marker: null });
  });

  it.each(['0', '1001', '-1', '1.5', '1e2', '0x10', 'ten', '', '%20', '+5', '5%20', '10000', '٥', '9'.repeat(400)])(
    'rejects a limit of "%s"',
    (limit) => {
      expect(() => page(`limit=${limit}`)).toThrow(
        expect.objectContaining({ type: 'invalidLimit', details: 'limit: must be a whole number from 1 to 1000' }),
      );
    },
  );

  it('accepts the id of a missing record as marker', () => {
    expect(page('marker=ntNever&limit=3')).toEqual({ limit: 3, marker: 'ntNever' });
  });

  it('treats an empty marker as none', () => {
    expect(page('marker=')).toEqual({ limit: 50, marker: null });
  });

  it('ignores unknown parameters', () => {
    expect(page('from=1&offset=20&Limit=7')).toEqual({ limit: 50, marker: null });
  });
});
