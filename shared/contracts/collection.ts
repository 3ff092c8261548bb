/** Number of records on a page if the request has no `limit`. */
export const DEFAULT_PAGE_LIMIT = 50;

/** Maximum `limit` of a page. */
export const MAX_PAGE_LIMIT = 1000;

/** The rule of a marker as it follows its name in an error message. */
export const MARKER_RULE = 'must be the next_marker of a response';

/**
 * A requested page. `marker` is the ID of its first record, or in a delivery history the marker of the record before
 * it. It is null for the first page.
 */
export type Page = { limit: number; marker: string | null };

/** The records of a page, and the marker of the next page, or null for the last page. */
export type Slice<Record> = { values: Record[]; next: string | null };

/**
 * Returns the response body for a slice (docs/api.md#paging). `next_href` keeps the query parameters of the request, filters included, and
 * sets the next marker.
 */
export const collection = <Record>(
  { values, next }: Slice<Record>,
  page: Page,
  self: { href: string; query: URLSearchParams },
) => {
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
