import { ServiceError } from '../domain/errors.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1000;

/** Which page of a collection is asked for: `marker` is the id it starts with, or null for the first page. */
export type Page = { limit: number; marker: string | null };

/** A page of records, and the id that the next page starts with; null on the last page. */
export type Slice<Record> = { values: Record[]; next: string | null };

/** The envelope of every list (interface, "Collection envelope"). */
export type Collection<Record> = {
  values: Record[];
  metadata: {
    count: number;
    limit: number;
    marker: string | null;
    next_marker: string | null;
    next_href: string | null;
  };
};

/** Reads `limit` and `marker` of a query string. @throws ServiceError invalidLimit */
export const parsePage = (query: URLSearchParams): Page => {
  const limit = query.get('limit') ?? String(DEFAULT_LIMIT);
  if (!/^\d{1,4}$/.test(limit) || Number(limit) < 1 || Number(limit) > MAX_LIMIT) {
    throw new ServiceError('invalidLimit', 'The limit is invalid.', {
      details: `limit: must be a whole number from 1 to ${MAX_LIMIT}`,
    });
  }
  return { limit: Number(limit), marker: query.get('marker') || null };
};

/**
 * Wraps a slice in the envelope. `next_href` is the request's own address with the query it had, so that filters stay,
 * and the next marker.
 */
export const collection = <Record>(
  { values, next }: Slice<Record>,
  page: Page,
  self: { href: string; query: URLSearchParams },
): Collection<Record> => {
  const query = new URLSearchParams(self.query);
  query.set('limit', String(page.limit));
  if (next !== null) query.set('marker', next);
  return {
    values,
    metadata: {
      count: values.length,
      limit: page.limit,
      marker: page.marker,
      next_marker: next,
      next_href: next === null ? null : `${self.href}?${query}`,
    },
  };
};
