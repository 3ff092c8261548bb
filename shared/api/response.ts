import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT, type Page, type Slice } from '../contracts/collection.ts';
import { errorStatus } from '../contracts/errors.ts';
import type { Collection, ErrorBody } from '../contracts/responses/schemas.ts';
import { invalidLimit, malformedMarker, notificationTooLarge, type ServiceError } from '../domain/errors.ts';
import { type ParsedRequest, query, requestUrl } from './request.ts';

/** A response of the HTTP API (payload format 2.0). */
export type ApiResponse = APIGatewayProxyStructuredResultV2;

/** The maximum size of a response body. Lambda returns at most 6 MB, headers and JSON escapes included (AWS limit). */
export const MAX_BODY_BYTES = 5.5 * 1024 * 1024;

/** Returns the size of a value in a Lambda response, which contains its JSON as a JSON string. */
export const responseBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(JSON.stringify(value)));

const jsonResponse = (statusCode: 200 | 201 | 202, body: unknown): ApiResponse => ({
  statusCode,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

export const ok = (body: unknown): ApiResponse => jsonResponse(200, body);

export const created = (body: unknown): ApiResponse => jsonResponse(201, body);

export const accepted = (body: unknown): ApiResponse => jsonResponse(202, body);

/** Returns a response with the URL of a notification and no body: 201 for a new one, 204 for an updated one. */
export const locationResponse = (statusCode: 201 | 204, location: string): ApiResponse => ({
  statusCode,
  headers: { location },
});

export const noContent: ApiResponse = { statusCode: 204 };

/** Adds a preference of the request that was applied (RFC 7240, section 3), such as `handling=strict`. */
export const withPreferenceApplied = (response: ApiResponse, preference: string | undefined): ApiResponse => {
  if (preference === undefined) return response;
  const others = response.headers?.['preference-applied'];
  const applied = others === undefined ? preference : `${others}, ${preference}`;
  return { ...response, headers: { ...response.headers, 'preference-applied': applied } };
};

/** Returns the response to an error. A 5xx never contains the message of an exception. */
export const errorResponse = (
  { type, message, details, retryAfterSeconds }: ServiceError,
  requestId: string,
): ApiResponse => ({
  statusCode: errorStatus[type],
  headers: {
    'content-type': 'application/json',
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
  },
  body: JSON.stringify({
    type,
    code: errorStatus[type],
    message,
    details,
    request_id: requestId,
  } satisfies ErrorBody),
});

/** Rejects a notification that would not fit into one response. @throws ServiceError 413 */
export const assertFitsResponse = (record: unknown): void => {
  if (responseBytes(record) > MAX_BODY_BYTES) throw notificationTooLarge(MAX_BODY_BYTES);
};

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
 * Returns the page that a request to a list asks for, and the function that responds with the slice.
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
  const self = { href: requestUrl(request, scheme), query: query(request) };
  const respond = <Record>(slice: Slice<Record>): ApiResponse => ok(collection(slice, page, self));
  return { page, respond };
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
