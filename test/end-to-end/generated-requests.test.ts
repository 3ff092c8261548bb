import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { fieldsOf, type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { validDetails } from '../support/notifications.ts';
import { type Client, call, newClient } from './support/api.ts';

const REQUEST_COUNT = Number(process.env.GENERATED_REQUESTS ?? 2_000);
const CONCURRENT = 8;

/** Well-formed text of 1 to `max` code points without NUL: short in nine of ten cases, otherwise of `max`. */
const text = (max: number) =>
  fc
    .oneof(
      { weight: 9, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: Math.min(max, 40) }) },
      { weight: 1, arbitrary: fc.string({ unit: 'grapheme-ascii', minLength: max, maxLength: max }) },
    )
    .map((value) => value.replaceAll('\0', ' '));

const key = fc.oneof(text(255), fc.constantFrom('__proto__', 'constructor', 'toString', 'length', '#', ' '));
const map = (max: number) => fc.dictionary(key, text(max), { maxKeys: 5 });

const digits = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: length, maxLength: length });
const alphanumeric = fc.string({ unit: fc.constantFrom(...'abcXYZ019'), minLength: 1, maxLength: 32 });

/** Generated details, for types whose fields have many forms. */
const generatedDetails: Partial<Record<NotificationTypeId, fc.Arbitrary<Record<string, string>>>> = {
  email: fc.record({
    address: fc
      .emailAddress({ size: 'small' })
      .filter((address) => /^[\w.+-]+@[\w.-]+$/.test(address) && !address.startsWith('.')),
  }),
  webhook: fc.record({ url: fc.webUrl({ withQueryParameters: true, withFragments: true }) }),
  incidentpager: fc.record(
    { service_key: alphanumeric, service_endpoint: fc.webUrl() },
    { requiredKeys: ['service_key'] },
  ),
  sms: fc
    .tuple(fc.constantFrom('+1', '+49', '+9'), digits(9))
    .map(([country, number]) => ({ phone_number: country + number })),
  incidentrouter: fc.record(
    { api_key: fc.uuid({ version: 4 }), routing_key: fc.constantFrom('a', 'a.b', '-', '_') },
    { requiredKeys: ['api_key'] },
  ),
  atomfeed: fc.record({ category: text(200) }),
};

const valid = fc.constantFrom(...notificationTypeIds).chain((type) =>
  fc.record(
    {
      label: text(255),
      type: fc.constant(type),
      details: fc
        .tuple(map(4_096), generatedDetails[type] ?? fc.constant(validDetails[type]))
        .map(([own, required]) => {
          const entries = Object.entries(own).filter(([name]) => !Object.hasOwn(fieldsOf(type), name));
          return Object.fromEntries([...entries, ...Object.entries(required)]);
        }),
      metadata: map(255),
    },
    { requiredKeys: ['label', 'type', 'details'] },
  ),
);

const invalidText = fc.constantFrom(
  '',
  '\0',
  '\ud800',
  'a'.repeat(5_000),
  '__proto__',
  '../..',
  '\r\nX: y',
  '%00',
  '{{7*7}}',
  "' OR 1=1",
);
const invalidValue = fc.oneof(fc.jsonValue(), invalidText, fc.constantFrom(null, [], {}, 0, true, [['a']]));
const invalid = fc.oneof(
  fc.jsonValue(),
  fc.record(
    {
      label: invalidValue,
      type: fc.oneof(fc.constantFrom(...notificationTypeIds), invalidValue),
      details: invalidValue,
      metadata: invalidValue,
      event_id: invalidValue,
      since: invalidValue,
      marker: invalidValue,
    },
    { requiredKeys: [] },
  ),
);
const path = fc
  .oneof(invalidText, fc.string({ unit: 'binary', maxLength: 50 }))
  .map((part) => encodeURIComponent(part.toWellFormed()));

type Request = { kind: 'valid'; body: object } | { kind: 'random'; method: string; path: string; body: unknown };
const request: fc.Arbitrary<Request> = fc.oneof(
  fc.record({ kind: fc.constant('valid' as const), body: valid }),
  fc.record({
    kind: fc.constant('random' as const),
    method: fc.constantFrom('POST', 'PUT', 'GET', 'DELETE', 'PATCH'),
    path: fc.oneof(
      fc.constantFrom('/notifications', '/notifications/ntTechnicalContactsEmail', '/notification_types'),
      path.map((id) => `/notifications/${id}`),
      path.map((marker) => `/notifications?marker=${marker}&limit=3`),
      path.map((id) => `/notifications?id=${id}&limit=${id}`),
      path.map((id) => `/notification_types/${id}`),
      path.map((id) => `/notifications/${id}/deliveries`),
      path.map((id) => `/notifications/${id}/redeliver`),
      path.map((marker) => `/notifications/ntTechnicalContactsEmail/deliveries?marker=${marker}&alarm_id=${marker}`),
      fc.constant('/notifications/ntTechnicalContactsEmail/redeliver'),
      path.map((id) => `/${id}`),
    ),
    body: invalid,
  }),
);

describe('generated requests', () => {
  let client: Client;
  beforeAll(async () => {
    client = await newClient();
  });

  const check = async (sent: Request): Promise<void> => {
    if (sent.kind === 'valid') {
      const id = await client.create(sent.body);
      const { body } = await client.get(`/notifications/${id}`);
      expect(body).toEqual({ id, ...sent.body });
      await client.delete(`/notifications/${id}`);
      return;
    }
    const response = await call(sent.method, sent.path, {
      token: client.token,
      ...(sent.method !== 'GET' && { body: JSON.stringify(sent.body) }),
    });
    expect(response.status, `${sent.method} ${sent.path} ${response.text}`).toBeLessThan(500);
    // The gateway itself returns 431, which does not have the error format of the API.
    if (response.status >= 400 && response.status !== 431)
      expect(Object.keys(Object(response.body))).toEqual(['type', 'code', 'message', 'details', 'request_id']);
    // A random body may be valid by chance.
    if (response.status === 201)
      expect((await client.get(response.headers.get('location') ?? '')).body).toMatchObject(
        JSON.parse(JSON.stringify({ label: Object(sent.body).label })),
      );
  };

  it(`never cause a 5xx, and accepted values are returned unchanged (${REQUEST_COUNT} requests)`, {
    timeout: 900_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: CONCURRENT, maxLength: CONCURRENT }), async (requests) => {
        await Promise.all(requests.map(check));
      }),
      { numRuns: Math.ceil(REQUEST_COUNT / CONCURRENT), endOnFailure: true },
    );
  });
});
