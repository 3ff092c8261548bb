import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type Client, call, newClient } from './support/api.ts';
import { collectionsOf } from './support/collections.ts';

const { list } = collectionsOf(z.looseObject({ id: z.string(), role: z.string(), created_at: z.number() }));

/** The greatest difference between this clock and that of a deployed stack. */
const CLOCK_SKEW_MS = 60_000;

const created = z.strictObject({
  id: z.string().regex(/^tk[0-9A-Z]{26}$/),
  token: z.string(),
  role: z.string(),
  label: z.string(),
  expires_at: z.number(),
});

const create = async (client: Client, role: 'admin' | 'creator' | 'observer') => {
  const { status, text, body } = await client.post('/tokens', { label: 'ci', role, days: 7 });
  expect(status, text).toBe(201);
  return created.parse(body);
};

describe('a token', () => {
  it('works at once with its role, for the tenant of the caller', async () => {
    const admin = await newClient();
    const path = `/notifications/${await admin.create({ label: 'm', type: 'managed' })}`;
    const statuses = { observer: [200, 403, 403], creator: [200, 204, 403], admin: [200, 204, 204] };
    for (const role of ['observer', 'creator', 'admin'] as const) {
      const { token } = await create(admin, role);
      const responses = [
        await call('GET', path, { token }),
        await call('PUT', path, { token, body: { label: 'x' } }),
        await call('DELETE', path, { token }),
      ];
      expect(responses.map(({ status }) => status)).toEqual(statuses[role]);
    }
  });

  it('is listed without the token itself, only for its tenant', async () => {
    const client = await newClient();
    await create(await newClient(), 'observer');
    const requestedAtMs = Date.now();
    const { token, ...shown } = await create(client, 'creator');
    const { values } = await list(client, '/tokens');
    expect(values).toEqual([
      expect.objectContaining({ label: 'test', role: 'admin', issuer: 'operator' }),
      { ...shown, issuer: values[0]?.id, created_at: expect.any(Number) },
    ]);
    expect(values[1]?.created_at).toBeGreaterThan(requestedAtMs - CLOCK_SKEW_MS);
    expect(values[1]?.created_at).toBeLessThan(Date.now() + CLOCK_SKEW_MS);
    const { text } = await client.get('/tokens');
    for (const secret of [token, client.token]) expect(text).not.toContain(secret);
  });

  it('is not revoked by another tenant, nor if it is the last one of an admin', async () => {
    const [client, other] = [await newClient(), await newClient()];
    const { id, token } = await create(other, 'observer');
    for (const unknown of [id, 'tk01ARZ3NDEKTSV4RRFFQ69G5FAV', '%00', '__proto__', encodeURIComponent(client.token)]) {
      expect((await client.delete(`/tokens/${unknown}`)).status, unknown).toBe(404);
    }
    expect((await call('GET', '/account', { token })).status).toBe(200);
    await create(client, 'creator');
    const [own] = (await list(client, '/tokens')).values;
    expect((await client.delete(`/tokens/${own?.id}`)).body).toMatchObject({
      type: 'forbiddenError',
      code: 403,
      message: 'The last admin token cannot be revoked.',
      details: 'id: is the only unexpired token of role admin; create another one first',
    });
  });
});
