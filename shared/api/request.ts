import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type * as z from 'zod/mini';
import type { AuditRange } from '../adapters/audits/audit-log.ts';
import type { DeliveryFilter } from '../adapters/deliveries/delivery-reader.ts';
import {
  DEFAULT_PAGE_LIMIT,
  isTimeMs,
  MAX_EVENT_ID_LENGTH,
  MAX_PAGE_LIMIT,
  MAX_TIME_MS,
  type Page,
  type Slice,
  TIME_RULE,
} from '../contracts/collection.ts';
import { hasMoreValues, isJsonObject, parseJson } from '../contracts/json.ts';
import { type DeliveryStatus, deliveryStatuses } from '../contracts/outcomes.ts';
import type { Collection } from '../contracts/responses/schemas.ts';
import { describeIssues } from '../contracts/text.ts';
import { unknownNameErrors } from '../contracts/unknown-names.ts';
import { badRequest, invalidLimit, malformedMarker } from '../domain/errors.ts';
import { type ApiResponse, MAX_BODY_BYTES, ok, responseBytes } from './response.ts';

/** A request of the HTTP API (payload format 2.0). */
export type ApiRequest = APIGatewayProxyEventV2;

export type ParsedRequest = ApiRequest & {
  /** Whether unknown names and malformed markers are errors, instead of being ignored. */
  readonly isStrict: boolean;
  /** The preferences in its `Prefer` header (`parsePreferences`). */
  readonly preferences: ReadonlyMap<string, string>;
};

const utf8 = new TextDecoder('utf-8', { fatal: true });

const bodyText = ({ body = '', isBase64Encoded }: ApiRequest): string => {
  if (!isBase64Encoded) return body.replace(/^\uFEFF/, '');
  try {
    return utf8.decode(Buffer.from(body, 'base64'));
  } catch {
    throw badRequest('body: must be UTF-8');
  }
};

/** More than a valid body can have. Small values take up to 50 times their size in memory. */
export const MAX_BODY_VALUES = 20_000;

const parsedBody = (request: ApiRequest, parse: (text: string) => unknown): unknown => {
  const text = bodyText(request);
  if (hasMoreValues(text, MAX_BODY_VALUES)) throw badRequest(`body: must have at most ${MAX_BODY_VALUES} values`);
  try {
    return parse(text);
  } catch (error) {
    throw badRequest(error instanceof RangeError ? 'body: is nested too deeply' : 'body: must be valid JSON');
  }
};

/** Parses the body as JSON, regardless of its content type. @throws ServiceError 400 */
export const jsonBody = (request: ApiRequest): unknown => parsedBody(request, JSON.parse);

/**
 * Parses the body of a request about a notification like `jsonBody`, except that the numbers in `webhook_request` keep
 * their digits.
 * @throws ServiceError 400
 */
export const notificationBody = (request: ApiRequest): unknown => {
  const body = jsonBody(request);
  if (!isJsonObject(body) || !Object.hasOwn(body, 'webhook_request')) return body;
  const exact = parsedBody(request, parseJson);
  return isJsonObject(exact) ? { ...body, webhook_request: exact.webhook_request } : body;
};

/** @throws ServiceError 400 with all invalid fields */
export const valid = <Value>(
  result: z.core.util.SafeParseResult<Value>,
  otherErrors: readonly string[] = [],
): Value => {
  if (result.success && otherErrors.length === 0) return result.data;
  throw badRequest([...(result.error ? [describeIssues(result.error)] : []), ...otherErrors].join('; '));
};

/** `attributes` are those that a body may have, `readOnly` those that null cannot remove. */
export type BodyContract<Value> = {
  parse: (body: unknown) => z.core.util.SafeParseResult<Value>;
  attributes: readonly string[];
  readOnly?: readonly string[];
  otherErrors?: (body: unknown) => readonly string[];
};

/**
 * @param body the result of `jsonBody` or `notificationBody`
 * @throws ServiceError 400 with all invalid and, in a strict request, all unknown attributes
 */
export const validBody = <Value>(
  { isStrict }: ParsedRequest,
  body: unknown,
  { parse, attributes, readOnly = [], otherErrors = () => [] }: BodyContract<Value>,
): Value => {
  const given = isStrict && isJsonObject(body) ? body : {};
  const removed = readOnly.filter((name) => given[name] === null).map((name) => `${name}: is read-only`);
  const unknown = unknownNameErrors('attribute', Object.keys(given), attributes);
  return valid(parse(body), [...otherErrors(body), ...unknown, ...removed]);
};

export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;

/** Returns undefined without an `Idempotency-Key`. @throws ServiceError 400 */
export const idempotentRequest = (request: ApiRequest): { key: string; body: string } | undefined => {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (key === '' || [...key].length > MAX_IDEMPOTENCY_KEY_LENGTH)
    throw badRequest(`Idempotency-Key: must have 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} characters`);
  return { key, body: bodyText(request) };
};

/** It is decoded, and empty if there is none. */
export const pathId = ({ pathParameters }: ApiRequest): string => pathParameters?.id ?? '';

/** API Gateway's own parsing joins repeated keys with commas. */
export const query = (request: ApiRequest): URLSearchParams => new URLSearchParams(request.rawQueryString);

/** Returns the URL of the request without its query, from what no client can set (docs/decisions/api.md#links). */
export const requestUrl = (request: ApiRequest, scheme: 'http' | 'https'): string =>
  `${scheme}://${request.requestContext.domainName}${encodeURI(request.rawPath)}`;

/** In ms since the epoch. @throws ServiceError 400 with all invalid parameters */
export const timeParameters = <Name extends string>(
  query: URLSearchParams,
  names: readonly Name[],
): { readonly [Parameter in Name]?: number } => {
  const given = names.flatMap((name) => query.getAll(name).map((text) => ({ name, text })));
  const invalid = given.filter(({ text }) => !/^\d{1,13}$/.test(text) || !isTimeMs(Number(text)));
  if (invalid.length > 0) throw badRequest(invalid.map(({ name }) => `${name}: ${TIME_RULE}`).join('; '));
  const times: { [Parameter in Name]?: number } = {};
  // Of a repeated parameter, the first one counts.
  for (const { name, text } of given) times[name] ??= Number(text);
  return times;
};

/** @throws ServiceError 400 with all invalid parameters */
export const parseAuditRange = (query: URLSearchParams): AuditRange => {
  const { from = 0, to = MAX_TIME_MS } = timeParameters(query, ['from', 'to']);
  return { fromMs: from, toMs: to, isReverse: query.get('reverse')?.toLowerCase() === 'true' };
};

export type DeliverySelection = { eventId: string } | { filter: DeliveryFilter };

const OTHER_PARAMETERS = ['alarm_id', 'entity_id', 'from', 'to', 'status'] as const;

const isDeliveryStatus = (text: string): text is DeliveryStatus => deliveryStatuses.some((status) => status === text);

/** @throws ServiceError 400 if it is empty */
const idParameter = (query: URLSearchParams, name: string): string | undefined => {
  const id = query.get(name) ?? undefined;
  if (id === '') throw badRequest(`${name}: must not be empty`);
  return id;
};

const statusParameters = (query: URLSearchParams): DeliveryStatus[] => {
  const texts = [...new Set(query.getAll('status'))];
  const statuses = texts.filter(isDeliveryStatus);
  if (statuses.length < texts.length) throw badRequest(`status: must be one of ${deliveryStatuses.join(', ')}`);
  return statuses;
};

/** @throws ServiceError 400 */
export const parseDeliverySelection = (query: URLSearchParams): DeliverySelection => {
  const eventId = idParameter(query, 'event_id');
  if (eventId === undefined) {
    const { from: fromMs, to: toMs } = timeParameters(query, ['from', 'to']);
    const [alarmId, entityId] = [idParameter(query, 'alarm_id'), idParameter(query, 'entity_id')];
    return { filter: { statuses: statusParameters(query), alarmId, entityId, fromMs, toMs } };
  }
  if (eventId.length > MAX_EVENT_ID_LENGTH) {
    throw badRequest(`event_id: must be at most ${MAX_EVENT_ID_LENGTH} characters`);
  }
  const others = OTHER_PARAMETERS.filter((name) => query.has(name));
  if (others.length > 0) throw badRequest(`event_id: must not be combined with ${others.join(', ')}`);
  return { eventId };
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

/** @throws ServiceError invalidLimit */
export const parsePage = (parameters: URLSearchParams): Page => {
  const limit = parameters.get('limit') ?? String(DEFAULT_PAGE_LIMIT);
  if (!/^\d{1,4}$/.test(limit) || Number(limit) < 1 || Number(limit) > MAX_PAGE_LIMIT) throw invalidLimit();
  return { limit: Number(limit), marker: parameters.get('marker') || null };
};

/**
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

/** `next_href` keeps the query parameters of the request, filters included (docs/api.md#paging). */
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
