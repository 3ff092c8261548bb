import { DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT, type Page, type Slice } from '../contracts/collection.ts';
import type { Collection } from '../contracts/responses/schemas.ts';
import { invalidLimit, malformedMarker } from '../domain/errors.ts';
import { type ParsedRequest, query, requestUrl } from './request.ts';
import { MAX_BODY_BYTES, responseBytes } from './response.ts';

/**
 * Returns the first of ordered records: at most `limit`, fewer if the response would exceed `MAX_BODY_BYTES`, and at
 * least one if there are any (docs/decisions/api.md#ids-and-paging). `rest` is the record after them, or undefined.
 */
export const takeFitting = async <Record>(
  records: AsyncIterable<Record> | Iterable<Record>,
  limit: number,
): Promise<{ values: Record[]; rest: Record | undefined }> => {
  const values: Record[] = [];
  let bytes = 0;
  for await (const record of records) {
    bytes += responseBytes(record);
    if (values.length === limit || (values.length > 0 && bytes > MAX_BODY_BYTES)) return { values, rest: record };
    values.push(record);
  }
  return { values, rest: undefined };
};

/** Returns the first page of ordered records (`takeFitting`). Its `next` is the ID of the next page's first record. */
export const takePage = async <Record extends { id: string }>(
  records: AsyncIterable<Record> | Iterable<Record>,
  limit: number,
): Promise<Slice<Record>> => {
  const { values, rest } = await takeFitting(records, limit);
  return { values, next: rest?.id ?? null };
};

/** Returns the page that a query string requests. @throws ServiceError invalidLimit */
export const parsePage = (parameters: URLSearchParams): Page => {
  const limit = parameters.get('limit') ?? String(DEFAULT_PAGE_LIMIT);
  if (!/^\d{1,4}$/.test(limit) || Number(limit) < 1 || Number(limit) > MAX_PAGE_LIMIT) {
    throw invalidLimit();
  }
  return { limit: Number(limit), marker: parameters.get('marker') || null };
};

/**
 * Returns the page that a request to a list asks for, and the request's URL, for the link to the next page.
 *
 * @param isMarker whether a text can be the `next_marker` of the list, unless reading the list checks it
 * @throws ServiceError 400 for an invalid limit, and a malformed marker of a strict request
 */
export const pageRequest = (
  request: ParsedRequest,
  scheme: 'http' | 'https',
  isMarker: (text: string) => boolean = () => true,
) => {
  const page = parsePage(query(request));
  if (request.isStrict && page.marker !== null && !isMarker(page.marker)) throw malformedMarker();
  return { page, self: { href: requestUrl(request, scheme), query: query(request) } };
};

/**
 * Returns the response body for a slice (docs/api.md#paging). `next_href` keeps the query parameters of the request,
 * filters included, and sets the next marker.
 */
export const collection = <Record>(
  { values, next }: Slice<Record>,
  page: Page,
  self: { href: string; query: URLSearchParams },
): Collection<Record> => {
  const parameters = new URLSearchParams(self.query);
  parameters.set('limit', String(page.limit));
  if (next !== null) parameters.set('marker', next);
  return {
    values,
    metadata: {
      count: values.length,
      limit: page.limit,
      marker: page.marker,
      next_marker: next,
      next_href: next === null ? null : `${self.href}?${parameters}`,
    },
  };
};
