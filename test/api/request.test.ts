import { describe, expect, it } from 'vitest';
import { changeContext } from '../../shared/api/endpoint.ts';
import {
  jsonBody,
  MAX_BODY_VALUES,
  parseAuditRange,
  parseDeliverySelection,
  pathId,
  query,
  requestUrl,
  validBody,
} from '../../shared/api/request.ts';
import { assertFitsResponse, locationResponse, noContent, ok } from '../../shared/api/response.ts';
import { accountChangesBody } from '../../shared/contracts/account.ts';
import { changesBody, newNotificationBody } from '../../shared/contracts/notification.ts';
import { deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { newTokenBody } from '../../shared/contracts/token.ts';
import { apiRequest, caller } from '../support/api-request.ts';
import { LAMBDA_LIMIT_BYTES, lambdaBytes } from '../support/lambda-response.ts';
import { entries, webhookNotification } from '../support/notifications.ts';

/** An error 400 with these details. */
const refusal = (details: unknown) => expect.objectContaining({ type: 'badRequest', details });

const base64 = (bytes: string | Uint8Array) =>
  apiRequest({ body: Buffer.from(bytes).toString('base64'), isBase64Encoded: true });

describe('a body with unknown attributes', () => {
  const strict = { ...apiRequest(), isStrict: true, preferences: new Map() };
  const token = { label: 'ci', role: 'observer' };

  it('is parsed without them, unless the request is strict', () => {
    const body = { ...token, rol: 'admin', dais: null, expires_at: 1 };
    expect(validBody({ ...strict, isStrict: false }, body, newTokenBody)).toEqual({ ...token, days: 365 });
    expect(() => validBody(strict, body, newTokenBody)).toThrow(
      expect.objectContaining({
        type: 'badRequest',
        details: [
          'rol: is an unknown attribute (did you mean role?)',
          'dais: is an unknown attribute (did you mean days?)',
          'expires_at: is an unknown attribute (known: label, role, days)',
        ].join('; '),
      }),
    );
    expect(validBody(strict, token, newTokenBody)).toEqual({ ...token, days: 365 });
  });

  it('is rejected with all invalid ones, too', () => {
    const body = JSON.parse('{"lable":"ci","role":"owner","__proto__":{}}');
    const details = /^label: is required; role: must be .*; lable: .*label\?\); __proto__: is an unknown attribute/;
    expect(() => validBody(strict, body, newTokenBody)).toThrow(refusal(expect.stringMatching(details)));
    expect(() => validBody(strict, [1], newTokenBody)).toThrow(refusal('body: must be a JSON object'));
  });

  it('of other services for a mute are refused with the name of ours, also if the request is not strict', () => {
    const details =
      'enabled: has no effect, set muted_until to mute the notification; muted: has no effect, set muted_until to mute the notification';
    for (const contract of [newNotificationBody(() => true), changesBody]) {
      const body = { label: 'l', type: 'managed', enabled: false, disabled: false, muted: true };
      const lenient = { ...strict, isStrict: false };
      expect(() => validBody(lenient, body, contract)).toThrow(refusal(details));
      expect(validBody(lenient, { ...body, enabled: true, muted: 'true' }, contract)).toMatchObject({ label: 'l' });
    }
  });

  it('may have those of a response that no request changes, but not to remove them', () => {
    const account = { technical_contacts: [], shadow: { from: 1, until: 2 }, limits: {} };
    expect(validBody(strict, account, accountChangesBody)).toEqual({ technical_contacts: [] });
    expect(() => validBody(strict, { shadow: null, time_zone: null }, accountChangesBody)).toThrow(
      refusal('shadow: is read-only'),
    );
  });
});

describe('jsonBody', () => {
  it('parses JSON regardless of the content type', () => {
    for (const headers of [{}, { 'content-type': 'application/x-www-form-urlencoded' }])
      expect(jsonBody(apiRequest({ headers, body: '{"label":"Größe 😀"}' }))).toEqual({ label: 'Größe 😀' });
  });

  it('decodes base64, and keeps keys such as __proto__', () => {
    const text = '{"__proto__":"p","constructor":"Größe 😀"}';
    expect(JSON.stringify(jsonBody(base64(text)))).toBe(text);
  });

  it.each(['', ' ', '{', '{"a":1,}', 'label=x', "{'a':1}", 'undefined', '{}{}', '\ufeff{'])(
    'rejects a body that is not JSON: "%s"',
    (body) => {
      expect(() => jsonBody(apiRequest({ body }))).toThrow(refusal('body: must be valid JSON'));
    },
  );

  it.each([
    ['objects', `[${'{},'.repeat(MAX_BODY_VALUES)}{}]`],
    ['numbers', `{"x":[${'1.0,'.repeat(MAX_BODY_VALUES)}1]}`],
    ['levels', '['.repeat(MAX_BODY_VALUES + 1)],
  ])('rejects a body with too many %s before it is parsed', (_, body) => {
    const error = { type: 'badRequest', details: `body: must have at most ${MAX_BODY_VALUES} values` };
    expect(() => jsonBody(apiRequest({ body }))).toThrow(expect.objectContaining(error));
    expect(() => jsonBody(base64(body))).toThrow(expect.objectContaining(error));
  });

  it('accepts a body whose texts contain any number of commas and brackets', () => {
    const body = JSON.stringify({ label: '\\",[{'.repeat(MAX_BODY_VALUES), more: Array(10).fill('",') });
    expect(jsonBody(apiRequest({ body }))).toEqual(JSON.parse(body));
  });

  it('rejects a missing body', () => {
    expect(() => jsonBody(apiRequest())).toThrow(expect.objectContaining({ type: 'badRequest' }));
  });

  it('rejects bytes that are not UTF-8', () => {
    expect(() => jsonBody(base64(Uint8Array.of(0x22, 0xff, 0xfe, 0x22)))).toThrow(refusal('body: must be UTF-8'));
  });
});

it('query returns repeated keys, whose values may contain commas', () => {
  const found = query(
    apiRequest({ rawQueryString: 'id=ntA&id=nt%2CB&limit=3', queryStringParameters: { id: 'ntA,nt,B' } }),
  );
  expect(found.getAll('id')).toEqual(['ntA', 'nt,B']);
  expect(found.get('limit')).toBe('3');
});

it('the ID in the path is decoded, and empty in another path', () => {
  expect(pathId(apiRequest({ pathParameters: { id: 'nt A' } }))).toBe('nt A');
  expect(pathId(apiRequest())).toBe('');
});

describe('requestUrl', () => {
  it('uses the request context, never a header', () => {
    const headers = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'http',
      forwarded: 'host=evil.example',
    };
    expect(requestUrl(apiRequest({ headers }), 'https')).toBe('https://api.example.com/notifications');
  });

  it('keeps the path of an API mapping, encoded', () => {
    const url = requestUrl(apiRequest({ rawPath: '/v1.0/123456/notifications/ä b' }), 'http');
    expect(url).toBe('http://api.example.com/v1.0/123456/notifications/%C3%A4%20b');
  });
});

it('a response with a body is JSON, and one without has no content type', () => {
  expect(ok({ a: 1 })).toEqual({ statusCode: 200, headers: { 'content-type': 'application/json' }, body: '{"a":1}' });
  const headers = { location: 'https://a.example/nt1' };
  expect(locationResponse(201, 'https://a.example/nt1')).toEqual({ statusCode: 201, headers });
  expect(noContent).toEqual({ statusCode: 204 });
});

describe('assertFitsResponse', () => {
  const withDetails = (count: number, value: string) => webhookNotification({ details: entries(count, value) });

  it('accepts a notification at the limits of the API', () => {
    const largest = {
      ...withDetails(256, '😀'.repeat(4096)),
      label: '😀'.repeat(255),
      metadata: entries(256, '😀'.repeat(255)),
    };
    expect(() => assertFitsResponse(largest)).not.toThrow();
    expect(lambdaBytes(ok({ id: 'nt'.padEnd(28, '0'), ...largest }))).toBeLessThan(LAMBDA_LIMIT_BYTES);
  });

  it('rejects with 413 a notification that does not fit into a response', () => {
    expect(() => assertFitsResponse(withDetails(256, '\u0001'.repeat(4096)))).toThrow(
      expect.objectContaining({ type: 'requestTooLargeError' }),
    );
  });
});

const parse = (text: string) => parseAuditRange(new URLSearchParams(text));

describe('the range of audit entries', () => {
  it('is everything by default, oldest first, or has both ends in ms', () => {
    expect(parse('')).toEqual({ fromMs: 0, toMs: 9_999_999_999_999, isReverse: false });
    expect(parse('from=0&to=1795295478841')).toMatchObject({ fromMs: 0, toMs: 1_795_295_478_841 });
  });

  it('is reversed by true in any case, and by no other text', () => {
    const isReversed = (text: string) => parse(`reverse=${text}`).isReverse;
    expect(['true', 'True', 'TRUE', 'false', '1', ''].filter(isReversed)).toEqual(['true', 'True', 'TRUE']);
  });

  it.each(['', '-1', '1.5', '1795295478', '10000000000000', 'today'])('rejects the time "%s"', (text) => {
    const rule = 'must be 0 or a whole number from 1000000000000 to 9999999999999: milliseconds since the epoch';
    expect(() => parse(`from=${text}`)).toThrow(refusal(`from: ${rule}`));
    expect(() => parse(`from=${text}&to=${text}`)).toThrow(refusal(`from: ${rule}; to: ${rule}`));
  });
});

const contextOf = (rawQueryString: string) => changeContext(apiRequest({ rawQueryString }), caller);

describe('the context of a change', () => {
  it('is the token, the request, and who and why', () => {
    expect(contextOf('_who=jane&_why=New%20rota&x=1')).toEqual({
      actor: { type: 'token', ...caller.token },
      request_id: 'request-1',
      ip_address: '192.0.2.1',
      who: 'jane',
      why: 'New rota',
    });
  });

  it.each(['', '_who=&_why=', 'who=jane&why=x'])('has neither who nor why for the query "%s"', (query) => {
    expect(contextOf(query)).toMatchObject({ who: undefined, why: undefined });
  });

  it('truncates texts to 255 code points, and replaces control characters and lone surrogates', () => {
    expect(contextOf(`_who=${encodeURIComponent('😀'.repeat(300))}`).who).toBe('😀'.repeat(255));
    expect(contextOf('_why=a%1b[31m%0ab%e2%80%aec%ed%a0%80').why).toMatch(/^a\ufffd\[31m\ufffdb\ufffdc\ufffd+$/);
  });
});

const parseFilter = (text: string) => parseDeliverySelection(new URLSearchParams(text));

it('a filter of deliveries is optional, and takes several statuses, IDs and times', () => {
  expect(parseFilter('')).toEqual({ filter: { statuses: [] } });
  const all = deliveryStatuses.map((status) => `status=${status}`).join('&');
  expect(parseFilter(`${all}&status=failed`)).toEqual({ filter: { statuses: deliveryStatuses } });
  expect(parseFilter('alarm_id=al%20Disk&entity_id=en&from=0&to=1795295395726')).toEqual({
    filter: { statuses: [], alarmId: 'al Disk', entityId: 'en', fromMs: 0, toMs: 1_795_295_395_726 },
  });
  expect(parseFilter('event_id=a%23b')).toEqual({ eventId: 'a#b' });
});

const STATUS_RULE = 'status: must be one of pending, delivered, failed, superseded, cancelled, bounced, summarized';

it.each([
  ['status=dead', STATUS_RULE],
  ['status=', STATUS_RULE],
  ['status=failed&status=__proto__', STATUS_RULE],
  ['alarm_id=', 'alarm_id: must not be empty'],
  ['entity_id=', 'entity_id: must not be empty'],
  ['event_id=', 'event_id: must not be empty'],
  [`event_id=${'x'.repeat(513)}`, 'event_id: must be at most 512 characters'],
  ['event_id=a&status=failed&from=0', 'event_id: must not be combined with from, status'],
  [
    'from=1795295395',
    'from: must be 0 or a whole number from 1000000000000 to 9999999999999: milliseconds since the epoch',
  ],
])('a filter of deliveries is rejected with its field and rule: %s', (text, details) => {
  expect(() => parseFilter(text)).toThrow(refusal(details));
});
