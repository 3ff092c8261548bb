import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Client, call, newClient, newTenant } from './support/api.ts';

const REQUEST_COUNT = Math.ceil(Number(process.env.GENERATED_REQUESTS ?? 2_000) / 4);
const CONCURRENT = 8;

const invalidText = fc.constantFrom('', '\0', '\ud800', 'a'.repeat(5_000), '__proto__', '../..', '\r\nX: y', '%00');
const invalidValue = fc.oneof(fc.jsonValue(), invalidText, fc.constantFrom(null, [], {}, 0, true, [['a']]));
const orInvalid = <Value>(valid: fc.Arbitrary<Value>) => fc.oneof(valid, invalidValue);

const body = fc.oneof(
  fc.jsonValue(),
  fc.record(
    {
      technical_contacts: orInvalid(fc.array(fc.oneof(fc.emailAddress(), invalidValue), { maxLength: 60 })),
      escalation_notifications: orInvalid(fc.array(fc.oneof(fc.string(), invalidValue), { maxLength: 4 })),
      summaries: orInvalid(
        fc.record({ email_after: orInvalid(fc.integer({ min: -1, max: 1_001 })) }, { requiredKeys: [] }),
      ),
      webhook_token: orInvalid(fc.string({ minLength: 8, maxLength: 66 })),
    },
    { requiredKeys: [] },
  ),
  fc.record(
    {
      label: orInvalid(fc.string({ unit: 'binary', minLength: 1 })),
      role: orInvalid(fc.constantFrom('admin', 'creator', 'observer')),
      days: orInvalid(fc.integer({ min: -1, max: 4_000 })),
      tenant: fc.string(),
    },
    { requiredKeys: [] },
  ),
);

const segment = fc
  .oneof(invalidText, fc.string({ unit: 'binary', maxLength: 50 }))
  .map((part) => encodeURIComponent(part.toWellFormed()));

const request = fc.record({
  role: fc.constantFrom('admin', 'creator', 'observer'),
  method: fc.constantFrom('GET', 'PUT', 'POST', 'DELETE'),
  path: fc.oneof(
    fc.constantFrom('/account', '/tokens', '/account/rotate-signing-secret', '/tokens/<foreign>'),
    segment.map((id) => `/tokens/${id}`),
    fc.tuple(segment, segment).map(([marker, limit]) => `/tokens?marker=${marker}&limit=${limit}`),
    segment.map((marker) => `/tokens?limit=3&marker=${marker}`),
    segment.map((id) => `/account?id=${id}`),
  ),
  body,
});

/** Returns whether the role permits the operation with this method and path, if it exists. */
const isPermitted = (role: string, method: string, path: string): boolean =>
  role === 'admin' || (method === 'GET' && path.startsWith('/account'));

describe('generated requests to the account and its tokens', () => {
  let clients: Record<'admin' | 'creator' | 'observer', Client>;
  let stranger: Client;
  let foreignId: string;
  let foreignAccount: unknown;
  const CONTACT = 'stranger@example.com';
  const readForeign = async () => {
    const { usage: _, ...account } = Object((await stranger.get('/account')).body);
    const { values } = Object((await stranger.get('/tokens')).body);
    return { account, values };
  };

  beforeAll(async () => {
    const tenant = newTenant();
    clients = {
      admin: await newClient('admin', tenant),
      creator: await newClient('creator', tenant),
      observer: await newClient('observer', tenant),
    };
    stranger = await newClient();
    await stranger.put('/account', { technical_contacts: [CONTACT] });
    const { body } = await stranger.post('/tokens', { label: 'foreign label', role: 'observer' });
    foreignId = String(Object(body).id);
    foreignAccount = await readForeign();
  });

  it('never fail with 5xx, never reach another tenant, and never exceed the role', async () => {
    const check = async (sent: typeof request extends fc.Arbitrary<infer Sent> ? Sent : never): Promise<void> => {
      const path = sent.path.replace('<foreign>', foreignId);
      const { status, text, body } = await call(sent.method, path, {
        token: clients[sent.role].token,
        ...(sent.method !== 'GET' && { body: JSON.stringify(sent.body) }),
      });
      const described = `${sent.role} ${sent.method} ${path} ${JSON.stringify(sent.body)}: ${status} ${text}`;
      expect(status, described).toBeLessThan(500);
      if (!isPermitted(sent.role, sent.method, path)) expect(status, described).toBeGreaterThanOrEqual(400);
      if (status >= 400 && status !== 431)
        expect(Object.keys(Object(body)), described).toEqual(['type', 'code', 'message', 'details', 'request_id']);
      for (const foreign of [stranger.tenant, CONTACT, 'foreign label']) expect(text).not.toContain(foreign);
      if (sent.role !== 'admin') expect(text, described).not.toMatch(/whsec_|"webhook_token"|mnt_/);
    };
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: CONCURRENT, maxLength: CONCURRENT }), async (batch) => {
        await Promise.all(batch.map(check));
      }),
      { numRuns: Math.ceil(REQUEST_COUNT / CONCURRENT) },
    );
    expect(await readForeign()).toEqual(foreignAccount);
    // No generated request contains the ID of the admin's own token, so it must still be valid.
    expect((await clients.admin.get('/tokens')).status).toBe(200);
  });
});
