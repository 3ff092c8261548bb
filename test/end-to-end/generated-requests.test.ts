import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { useStarted } from '../support/use-started.ts';
import { call, newClient, webhook } from './support/api.ts';

const REQUEST_COUNT = Number(process.env.GENERATED_REQUESTS ?? 2_000);
const CONCURRENT = 8;

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
const webhookRequest = fc.oneof(
  invalidValue,
  fc.record({ headers: fc.dictionary(invalidText, invalidValue), body: invalidValue }, { requiredKeys: [] }),
);
/** Attributes of one kind of object, because others are unknown to most operations. */
const some = <Value>(attributes: { [Name in keyof Value]: fc.Arbitrary<Value[Name]> }) =>
  fc.record(attributes, { requiredKeys: [] });
const invalid = fc.oneof(
  webhookRequest.map((webhook_request) => ({ ...webhook, webhook_request })),
  fc.jsonValue(),
  some({
    label: invalidValue,
    type: fc.oneof(fc.constantFrom(...notificationTypeIds), invalidValue),
    details: invalidValue,
    metadata: invalidValue,
    webhook_request: webhookRequest,
  }),
  some({
    event_id: invalidValue,
    since: invalidValue,
    marker: invalidValue,
    status: fc.oneof(fc.constant('pending'), invalidValue),
  }),
  some({
    technical_contacts: fc.oneof(fc.array(fc.oneof(fc.emailAddress(), invalidValue), { maxLength: 60 }), invalidValue),
    escalation_notifications: fc.oneof(fc.array(invalidValue, { maxLength: 4 }), invalidValue),
    summaries: fc.oneof(fc.record({ email_after: fc.oneof(fc.integer(), invalidValue) }), invalidValue),
    time_zone: fc.oneof(fc.constantFrom('Europe/Berlin', 'UTC'), fc.string(), invalidValue),
    webhook_token: invalidValue,
  }),
  some({
    label: invalidValue,
    role: fc.oneof(fc.constant('observer'), invalidValue),
    days: fc.oneof(fc.integer({ min: -1, max: 4_000 }), invalidValue),
  }),
);
const prefer = fc.oneof(
  fc.constantFrom('', 'handling=strict', 'return=representation', 'return="minimal";a, handling'),
  fc.string({ unit: fc.constantFrom(...'a=;," \\') }),
);
const path = fc
  .oneof(invalidText, fc.string({ unit: 'binary', maxLength: 50 }))
  .map((part) => encodeURIComponent(part.toWellFormed()));

const request = fc.record({
  method: fc.constantFrom('POST', 'PUT', 'GET', 'DELETE', 'PATCH'),
  path: fc.oneof(
    fc.constantFrom('/notifications', '/notifications/ntTechnicalContactsEmail', '/notification_types'),
    fc.constantFrom('/account', '/account/rotate-signing-secret', '/tokens', '/audits'),
    path.map((id) => `/tokens/${id}`),
    path.map((marker) => `/tokens?marker=${marker}&limit=3`),
    path.map((time) => `/audits?from=${time}&marker=${time}`),
    path.map((id) => `/notifications/${id}`),
    path.map((marker) => `/notifications?marker=${marker}&limit=3`),
    path.map((id) => `/notifications?id=${id}&limit=${id}`),
    path.map((text) => `/deliveries?marker=${text}&entity_id=${text}`),
    path.map((text) => `/deliveries?event_id=${text}&limit=${text}`),
    path.map((marker) => `/failures?marker=${marker}`),
    path.map((id) => `/notification_types/${id}`),
    path.map((id) => `/notifications/${id}/deliveries`),
    path.map((id) => `/notifications/${id}/redeliver`),
    path.map((marker) => `/notifications/ntTechnicalContactsEmail/deliveries?marker=${marker}&alarm_id=${marker}`),
    fc.constant('/notifications/ntTechnicalContactsEmail/redeliver'),
    path.map((id) => `/${id}`),
  ),
  body: invalid,
  prefer,
});
type Request = typeof request extends fc.Arbitrary<infer Value> ? Value : never;

describe('generated requests', () => {
  const client = useStarted(() => newClient());

  const check = async (sent: Request): Promise<void> => {
    const response = await call(sent.method, sent.path, {
      token: client.token,
      headers: { prefer: sent.prefer },
      ...(sent.method !== 'GET' && { body: JSON.stringify(sent.body) }),
    });
    expect(response.status, `${sent.method} ${sent.path} ${response.text}`).toBeLessThan(500);
    // The gateway itself returns 431, which does not have the error format of the API.
    if (response.status >= 400 && response.status !== 431)
      expect(Object.keys(Object(response.body))).toEqual(['type', 'code', 'message', 'details', 'request_id']);
    // A random body may be valid by chance.
    if (response.status === 201 && sent.path === '/notifications')
      expect((await client.get(response.headers.get('location') ?? '')).body).toMatchObject(
        JSON.parse(JSON.stringify({ label: Object(sent.body).label })),
      );
  };

  it(`never cause a 5xx (${REQUEST_COUNT} requests)`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: CONCURRENT, maxLength: CONCURRENT }), async (requests) => {
        await Promise.all(requests.map(check));
      }),
      { numRuns: Math.ceil(REQUEST_COUNT / CONCURRENT), endOnFailure: true },
    );
  });
});
