import * as z from 'zod/mini';
import { BrokenTemplateError, parseBodyTemplate } from './body-template.ts';
import { isJsonObject } from './json.ts';
import { type StringMap, truncateKey } from './text.ts';
import { MASKED_VALUE, type WebhookRequest } from './webhook-request.ts';

/** Of `headers` and `body` together, as JSON in UTF-8. */
export const MAX_REQUEST_BYTES = 16 * 1024;

export const MAX_HEADERS = 20;
export const MAX_HEADER_LENGTH = 1_024;

/** In lower case: the service or its HTTP client sets them, or they control the connection. */
export const reservedHeaders = [
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'traceparent',
  'tracestate',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'webhook-id',
  'webhook-signature',
  'webhook-timestamp',
  'x-monitoring-webhook-token',
] as const;

export const isReservedHeader = (name: string): boolean =>
  reservedHeaders.some((reserved) => reserved === name.toLowerCase());

/** A token of HTTP (RFC 9110, section 5.6.2). */
export const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Visible ASCII characters, with spaces between them. */
export const HEADER_VALUE = /^[!-~](?:[ -~]*[!-~])?$/;

const byLowerCaseName = (headers: StringMap): ReadonlyMap<string, string> =>
  new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

const brokenNameRule = (name: string, names: ReadonlySet<string>): string | undefined => {
  if (!HEADER_NAME.test(name)) return 'has a name that is no HTTP token';
  if (isReservedHeader(name)) return 'is set by the service';
  return names.has(name.toLowerCase()) ? 'is there twice' : undefined;
};

const brokenValueRule = (value: unknown): string | undefined => {
  if (typeof value !== 'string') return 'must be a string';
  if (value.length < 1 || value.length > MAX_HEADER_LENGTH) return `must be 1 to ${MAX_HEADER_LENGTH} characters long`;
  if (value.includes(MASKED_VALUE)) return `must not contain ${MASKED_VALUE}, which only keeps a stored value`;
  return HEADER_VALUE.test(value) ? undefined : 'must be visible ASCII characters, with spaces only between them';
};

type Fields = Readonly<Record<string, unknown>>;
type Report = (path: readonly string[], message: string) => void;

const KEPT_RULE = `must be the value: ${MASKED_VALUE} only keeps a stored value, and none is kept when the origin of details.url changes`;

const resolvedHeaders = (headers: Fields, stored: StringMap, report: Report): Fields => {
  const entries = Object.entries(headers);
  if (entries.length > MAX_HEADERS) report([], `must have at most ${MAX_HEADERS} entries`);
  const storedValues = byLowerCaseName(stored);
  const names = new Set<string>();
  const resolved = entries.slice(0, MAX_HEADERS).map(([name, given]) => {
    const value = given === MASKED_VALUE ? storedValues.get(name.toLowerCase()) : given;
    const rule = brokenNameRule(name, names) ?? (value === undefined ? KEPT_RULE : brokenValueRule(value));
    if (rule !== undefined) report([truncateKey(name)], rule);
    names.add(name.toLowerCase());
    return [name, value];
  });
  return Object.fromEntries(resolved);
};

/** Also if it is nested too deeply for JSON. */
const isTooLarge = (value: unknown): boolean => {
  try {
    return Buffer.byteLength(JSON.stringify(value)) > MAX_REQUEST_BYTES;
  } catch (error) {
    if (error instanceof RangeError) return true;
    throw error;
  }
};

const SIZE_RULE = `must take at most ${MAX_REQUEST_BYTES} bytes as JSON`;

const checkBody = (body: unknown, report: Report): void => {
  try {
    parseBodyTemplate(body);
  } catch (error) {
    if (!(error instanceof BrokenTemplateError)) throw error;
    report(error.path.map(truncateKey), error.message);
  }
};

const isEmpty = ({ headers = {}, ...rest }: Fields): boolean =>
  Object.keys(rest).length === 0 && isJsonObject(headers) && Object.keys(headers).length === 0;

const resolvedRequest = (request: Fields, stored: StringMap, report: Report): Fields => {
  const unknown = Object.keys(request).find((name) => name !== 'headers' && name !== 'body');
  if (unknown !== undefined) report([truncateKey(unknown)], 'is unknown: only headers and body are permitted');
  if (Object.hasOwn(request, 'body')) {
    if (isTooLarge(request.body)) {
      report([], SIZE_RULE);
      return request;
    }
    checkBody(request.body, (path, message) => report(['body', ...path], message));
  }
  if (request.headers === undefined) return request;
  if (isJsonObject(request.headers)) {
    const reportHeader: Report = (path, message) => report(['headers', ...path], message);
    return { ...request, headers: resolvedHeaders(request.headers, stored, reportHeader) };
  }
  report(['headers'], 'must be an object of strings');
  return request;
};

/** The parsed value has the stored values of masked headers. Without headers and body, it is undefined. */
export const webhookRequest = (isPermitted: boolean, stored: StringMap) =>
  z
    .custom<WebhookRequest | undefined>(isJsonObject, { error: 'must be an object with headers, body or both' })
    .check((context) => {
      const request: Fields = { ...context.value };
      const report: Report = (path, message) =>
        void context.issues.push({ code: 'custom', path: [...path], message, input: undefined });
      if (isEmpty(request)) {
        context.value = undefined;
        return;
      }
      if (!isPermitted) return report([], 'is only for notifications of type webhook');
      const resolved = resolvedRequest(request, stored, report);
      if (context.issues.length > 0) return;
      if (isTooLarge(resolved)) report([], SIZE_RULE);
      context.value = resolved;
    });
