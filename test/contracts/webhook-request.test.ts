import { validateHeaderName, validateHeaderValue } from 'node:http';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../shared/contracts/json.ts';
import { parseDestination, parseNotification } from '../../shared/contracts/notification.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { maskedRequest, parseStoredRequest, serializeRequest } from '../../shared/contracts/webhook-request.ts';
import { reservedHeaders } from '../../shared/contracts/webhook-request-rules.ts';
import { schemaViolations } from '../support/api-description.ts';
import { validDetails, webhookNotification } from '../support/notifications.ts';
import { forAll } from '../support/quick-run.ts';
import { rejectionDetails } from '../support/rejection.ts';

const parse = (webhook_request: unknown, storedHeaders?: Record<string, string>) =>
  parseNotification({ ...webhookNotification(), webhook_request }, undefined, storedHeaders);
const parsed = (webhook_request: unknown, storedHeaders?: Record<string, string>) =>
  parse(webhook_request, storedHeaders).data?.webhook_request;
const withHeaders = (headers: unknown) => ({ headers });

const accepted: [string, unknown][] = [
  ['only headers', { headers: { authorization: 'Bearer a.b-c=' } }],
  ['only a body', { body: { text: '{{alert.title}}' } }],
  ['a body that is null', { body: null }],
  ['a body that is a text', { body: '{{details}}' }],
  ['a name of all characters of a token', withHeaders({ "!#$%&'*+-.^_`|~09AZaz": 'x' })],
  ['a value of 1,024 characters', withHeaders({ 'x-key': '~'.repeat(1_024) })],
  ['a value with spaces', withHeaders({ authorization: 'Basic a b' })],
  ['20 headers', withHeaders(Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`x-${index}`, 'v'])))],
  ['16 KB', { body: 'b'.repeat(16 * 1024 - '{"body":""}'.length) }],
];

const rejected: [string, unknown, string][] = [
  ['a list', [], 'webhook_request: must be an object with headers, body or both'],
  ['a text', '{}', 'webhook_request: must be an object with headers, body or both'],
  [
    'another key',
    { method: 'PUT', body: 1 },
    'webhook_request.method: is unknown: only headers and body are permitted',
  ],
  ['headers in a list', withHeaders(['a: b']), 'webhook_request.headers: must be an object of strings'],
  ['headers that are null', withHeaders(null), 'webhook_request.headers: must be an object of strings'],
  ['a number as value', withHeaders({ 'x-key': 7 }), 'webhook_request.headers.x-key: must be a string'],
  ['an empty value', withHeaders({ 'x-key': '' }), 'webhook_request.headers.x-key: must be 1 to 1024 characters long'],
  [
    'a value of 1,025 characters',
    withHeaders({ 'x-key': 'v'.repeat(1_025) }),
    'webhook_request.headers.x-key: must be 1 to 1024 characters long',
  ],
  ...['a\r\nx-injected: b', 'a\nb', 'a\0', ' a', 'a ', 'ä', 'a\tb', '\u007f'].map(
    (value): [string, unknown, string] => [
      `the value ${JSON.stringify(value)}`,
      withHeaders({ 'x-key': value }),
      'webhook_request.headers.x-key: must be visible ASCII characters, with spaces only between them',
    ],
  ),
  ...['', 'a b', 'a:', 'a\r\n', 'ä', '(a)'].map((name): [string, unknown, string] => [
    `the name ${JSON.stringify(name)}`,
    withHeaders({ [name]: 'v' }),
    `webhook_request.headers.${name}: has a name that is no HTTP token`,
  ]),
  [
    '21 headers',
    withHeaders(Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`x-${index}`, 'v']))),
    'webhook_request.headers: must have at most 20 entries',
  ],
  [
    'a header value that contains the mask',
    withHeaders({ authorization: 'Bearer ***' }),
    'webhook_request.headers.authorization: must not contain ***, which only keeps a stored value',
  ],
  [
    'more than 16 KB, whatever it contains',
    { body: '{{'.repeat(16 * 1024) },
    'webhook_request: must take at most 16384 bytes as JSON',
  ],
  ['more than 16 KB', { body: 'b'.repeat(16 * 1024) }, 'webhook_request: must take at most 16384 bytes as JSON'],
];

describe('a webhook request', () => {
  it.each(accepted)('may have %s', (_, request) => {
    expect(parsed(request)).toEqual(request);
    expect(schemaViolations({ $ref: '#/components/schemas/WebhookRequest' }, request)).toEqual([]);
  });

  it.each(rejected)('is rejected with %s', (_, request, message) => {
    expect(rejectionDetails(parse(request))).toBe(message);
  });

  it.each(reservedHeaders)('cannot set the header %s, in any case', (name) => {
    for (const each of [name, name.toUpperCase()]) {
      expect(rejectionDetails(parse(withHeaders({ [each]: 'v' })))).toBe(
        `webhook_request.headers.${each}: is set by the service`,
      );
    }
  });

  it('cannot have two headers whose names differ only in case', () => {
    expect(rejectionDetails(parse(withHeaders({ 'X-Key': 'a', 'x-key': 'b' })))).toBe(
      'webhook_request.headers.x-key: is there twice',
    );
  });

  it('is rejected unless the HTTP client of Node.js sends its headers as they are', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string(),
      fc.constantFrom('a\r\nb: c', 'x-a:', '\r', '\n ', '__proto__', '\u010a', 'Host', 'ſ'),
    );
    forAll(500)(fc.dictionary(text, text), (headers) => {
      for (const [name, value] of Object.entries(parsed({ headers })?.headers ?? {})) {
        validateHeaderName(name);
        validateHeaderValue(name, value);
        expect(value).toMatch(/^[\x20-\x7e]+$/);
        expect(value.trim()).toBe(value);
      }
    });
  });

  it('is rejected with all invalid fields', () => {
    const details = rejectionDetails(parse({ headers: { host: 'a', 'x-key': '' }, body: { a: ['{{'] }, url: 'u' }));
    expect(details?.match(/webhook_request[^:]*/g)).toEqual([
      'webhook_request.url',
      'webhook_request.body.a.0',
      'webhook_request.headers.host',
      'webhook_request.headers.x-key',
    ]);
  });

  it.each(notificationTypeIds.filter((type) => type !== 'webhook'))('is rejected for the type %s', (type) => {
    const body = { label: 'l', type, details: validDetails[type], webhook_request: { body: 1 } };
    for (const result of [parseNotification(body), parseDestination(body)])
      expect(rejectionDetails(result)).toBe('webhook_request: is only for notifications of type webhook');
  });

  it.each([[{}], [{ headers: {} }]])('is absent if it is %j', (request) => {
    expect(parse(request)).toMatchObject({ success: true });
    expect(parsed(request)).toBeUndefined();
    expect(parsed(null)).toBeUndefined();
  });
});

describe('a masked value', () => {
  const stored = { Authorization: 'Bearer 1', 'x-key': 'k' };

  it('stands for the stored value of the header, in any case', () => {
    expect(parsed({ headers: { authorization: '***', 'x-new': 'n' } }, stored)).toEqual({
      headers: { authorization: 'Bearer 1', 'x-new': 'n' },
    });
  });

  it('is rejected without a stored value, in creates and tests', () => {
    const rule =
      'webhook_request.headers.x-other: must be the value: *** only keeps a stored value, and none is kept when the origin of details.url changes';
    const request = { headers: { 'x-other': '***' } };
    expect(rejectionDetails(parse(request, stored))).toBe(rule);
    expect(rejectionDetails(parse(request))).toBe(rule);
    const destination = { type: 'webhook', details: validDetails.webhook, webhook_request: request };
    expect(rejectionDetails(parseDestination(destination))).toBe(rule);
  });

  it('counts with its stored value for the size', () => {
    const long = Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`x-${index}`, 'v'.repeat(1_024)]));
    const masked = maskedRequest({ headers: long });
    expect(JSON.stringify(masked).length).toBeLessThan(1_000);
    expect(rejectionDetails(parse(masked, long))).toBe('webhook_request: must take at most 16384 bytes as JSON');
  });
});

describe('a serialized webhook request', () => {
  it('keeps the digits of numbers, the order of keys, and keys such as __proto__', () => {
    const json = '{"headers":{"__proto__":"a"},"body":{"z":12345678901234567890,"a":1.0,"__proto__":[null]}}';
    const request = parsed(parseJson(json));
    expect(serializeRequest(request)).toBe(json);
    expect(serializeRequest(parseStoredRequest(json))).toBe(json);
    expect(JSON.stringify(maskedRequest(parseStoredRequest(json)))).toBe(json.replace('"a"}', '"***"}'));
  });

  it.each(['{}', '{"headers":{"a":"b"}}', '{"body":null}'])('has the same members as before: %s', (json) => {
    expect(serializeRequest(parseStoredRequest(json))).toBe(json);
  });
});
