import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { type Client, call, newClient } from './support/api.ts';

const REQUESTS = Number(process.env.GENERATED_REQUESTS ?? 2_000);

/** Well-formed text without NUL, of 1 to `max` code points; now and then as long as the limit allows. */
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

const fields: Record<NotificationTypeId, fc.Arbitrary<Record<string, string>>> = {
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
  technicalContactsEmail: fc.constant({}),
  managed: fc.constant({}),
};

const valid = fc.constantFrom(...notificationTypeIds).chain((type) =>
  fc.record(
    {
      label: text(255),
      type: fc.constant(type),
      details: fc.tuple(map(4_096), fields[type]).map(([own, required]) => {
        const entries = Object.entries(own).filter(
          ([name]) => !/^(address|url|service_|phone_|api_|routing_|category)/.test(name),
        );
        return Object.fromEntries([...entries, ...Object.entries(required)]);
      }),
      metadata: map(255),
    },
    { requiredKeys: ['label', 'type', 'details'] },
  ),
);

const hostileText = fc.constantFrom(
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
const hostileValue = fc.oneof(fc.jsonValue(), hostileText, fc.constantFrom(null, [], {}, 0, true, [['a']]));
const hostile = fc.oneof(
  fc.jsonValue(),
  fc.record(
    {
      label: hostileValue,
      type: fc.oneof(fc.constantFrom(...notificationTypeIds), hostileValue),
      details: hostileValue,
      metadata: hostileValue,
    },
    { requiredKeys: [] },
  ),
);
const path = fc
  .oneof(hostileText, fc.string({ unit: 'binary', maxLength: 50 }))
  .map((part) => encodeURIComponent(part.toWellFormed()));

type Request = { kind: 'valid'; body: object } | { kind: 'hostile'; method: string; path: string; body: unknown };
const request: fc.Arbitrary<Request> = fc.oneof(
  fc.record({ kind: fc.constant('valid' as const), body: valid }),
  fc.record({
    kind: fc.constant('hostile' as const),
    method: fc.constantFrom('POST', 'PUT', 'GET', 'DELETE', 'PATCH'),
    path: fc.oneof(
      fc.constantFrom('/notifications', '/notifications/ntTechnicalContactsEmail', '/notification_types'),
      path.map((id) => `/notifications/${id}`),
      path.map((marker) => `/notifications?marker=${marker}&limit=3`),
      path.map((id) => `/notifications?id=${id}&limit=${id}`),
      path.map((id) => `/notification_types/${id}`),
      path.map((id) => `/${id}`),
    ),
    body: hostile,
  }),
);

describe('generated requests', () => {
  let client: Client;
  beforeAll(async () => {
    client = await newClient();
  });

  const check = async (one: Request): Promise<void> => {
    if (one.kind === 'valid') {
      const id = await client.create(one.body);
      const { body } = await client.get(`/notifications/${id}`);
      expect(body).toEqual({ id, ...one.body });
      await client.delete(`/notifications/${id}`);
      return;
    }
    const answer = await call(one.method, one.path, {
      token: client.token,
      ...(one.method !== 'GET' && { body: JSON.stringify(one.body) }),
    });
    expect(answer.status, `${one.method} ${one.path} ${answer.text}`).toBeLessThan(500);
    // The gateway's own answers have its own shape.
    if (answer.status >= 400 && answer.status !== 431)
      expect(Object.keys(Object(answer.body))).toEqual(['type', 'code', 'message', 'details', 'request_id']);
    // Whatever was accepted by chance reads back as it was sent.
    if (answer.status === 201)
      expect((await client.get(answer.headers.get('location') ?? '')).body).toMatchObject(
        JSON.parse(JSON.stringify({ label: Object(one.body).label })),
      );
  };

  it(`never meet a 5xx, and what is accepted reads back equal (${REQUESTS} of them)`, {
    timeout: 180_000,
  }, async () => {
    const together = 8;
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: together, maxLength: together }), async (requests) => {
        await Promise.all(requests.map(check));
      }),
      { numRuns: Math.ceil(REQUESTS / together), endOnFailure: true },
    );
  });
});
