import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { isWellFormedToken } from '../../shared/domain/token.ts';
import { type Client, call, newClient } from './support/api.ts';

const created = z.strictObject({
  id: z.string(),
  token: z.string(),
  role: z.string(),
  label: z.string(),
  expires_at: z.number(),
});

const create = async (client: Client, body: object) => {
  const response = await client.post('/tokens', body);
  expect(response.status, response.text).toBe(201);
  return created.parse(response.body);
};

const DAY_MS = 86_400_000;
/** The greatest difference between this clock and that of a deployed stack. */
const CLOCK_SKEW_MS = 60_000;
const LABEL = { label: 'ci', role: 'admin' };

describe('creating a token', () => {
  it('returns a token that works at once with its role, for the tenant of the caller', async () => {
    const admin = await newClient();
    const id = await admin.create({ label: 'm', type: 'managed' });
    const statuses = { admin: [200, 204, 204], creator: [200, 204, 403], observer: [200, 403, 403] };
    for (const role of ['observer', 'creator', 'admin'] as const) {
      const { token, ...shown } = await create(admin, { label: 'ci', role });
      expect(shown).toMatchObject({ role, label: 'ci', id: expect.stringMatching(/^tk[0-9A-Z]{26}$/) });
      expect(isWellFormedToken(token)).toBe(true);
      const path = `/notifications/${id}`;
      const responses = [
        await call('GET', path, { token }),
        await call('PUT', path, { token, body: { label: 'x' } }),
        await call('DELETE', path, { token }),
      ];
      expect(responses.map(({ status }) => status)).toEqual(statuses[role]);
    }
  });

  it('expires after the given days, or after 365', async () => {
    const client = await newClient();
    for (const [body, days] of [
      [{ days: 1 }, 1],
      [{ days: 3_650 }, 3_650],
      [{}, 365],
      [{ days: null }, 365],
    ] as const) {
      const requestedAtMs = Date.now();
      const { expires_at } = await create(client, { ...LABEL, ...body });
      expect(expires_at).toBeGreaterThan(requestedAtMs + days * DAY_MS - CLOCK_SKEW_MS);
      expect(expires_at).toBeLessThan(Date.now() + days * DAY_MS + CLOCK_SKEW_MS);
    }
  });

  it('ignores unknown keys, such as another tenant', async () => {
    const [client, other] = [await newClient(), await newClient()];
    const { token } = await create(client, { ...LABEL, tenant: other.tenant, id: 'mine', token: other.token });
    expect((await call('GET', '/account', { token })).body).toMatchObject({ id: client.tenant });
  });

  it('accepts a label of 255 code points', async () => {
    const label = '😀'.repeat(255);
    expect(await create(await newClient(), { ...LABEL, label })).toMatchObject({ label });
  });

  const DAYS_RULE = 'days: must be a whole number from 1 to 3650';
  const ROLE_RULE = 'role: must be one of admin, creator, observer';

  it.each([
    [{ role: 'admin' }, 'label: is required'],
    [{ label: '', role: 'admin' }, 'label: must be 1 to 255 characters long'],
    [{ label: 'x'.repeat(256), role: 'admin' }, 'label: must be 1 to 255 characters long'],
    [{ label: 7, role: 'admin' }, 'label: must be a string'],
    [{ label: 'a\0b', role: 'admin' }, 'label: must not contain the NUL character'],
    [{ label: 'x' }, 'role: is required'],
    [{ label: 'x', role: 'owner' }, ROLE_RULE],
    [{ label: 'x', role: '__proto__' }, ROLE_RULE],
    [{ label: 'x', role: ['admin'] }, ROLE_RULE],
    [{ ...LABEL, days: 0 }, DAYS_RULE],
    [{ ...LABEL, days: 3_651 }, DAYS_RULE],
    [{ ...LABEL, days: 1.5 }, DAYS_RULE],
    [{ ...LABEL, days: '7' }, DAYS_RULE],
    [{ ...LABEL, days: 1e300 }, DAYS_RULE],
    [{ days: -1 }, `label: is required; role: is required; ${DAYS_RULE}`],
  ])('rejects %j', async (body, details) => {
    const response = await (await newClient()).post('/tokens', body);
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ type: 'badRequest', code: 400, details });
  });

  it.each(['', '{not json', '7', '[]', 'null'])('rejects a body that is not a JSON object: %s', async (body) => {
    expect((await (await newClient()).post('/tokens', body)).status).toBe(400);
  });

  it('is refused at 100 tokens until one is revoked, also for concurrent requests', { timeout: 120_000 }, async () => {
    const client = await newClient();
    for (let count = 1; count < 98; count++) await create(client, { ...LABEL, role: 'observer' });
    const responses = await Promise.all(Array.from({ length: 4 }, () => client.post('/tokens', LABEL)));
    const refused = responses.filter(({ status }) => status === 403);
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(2);
    expect(refused).toHaveLength(2);
    for (const { body } of refused) {
      expect(body).toMatchObject({
        type: 'forbiddenError',
        message: 'The account has as many tokens as it may have.',
        details: 'tokens: at most 100 unexpired tokens in an account',
      });
    }
    const { id } = created.parse(responses.find(({ status }) => status === 201)?.body);
    expect((await client.delete(`/tokens/${id}`)).status).toBe(204);
    expect((await client.post('/tokens', LABEL)).status).toBe(201);
    expect((await client.get('/account')).body).toMatchObject({ usage: { tokens: 100 } });
    await create(await newClient(), LABEL);
  });

  it('is refused to creators and observers', async () => {
    for (const role of ['creator', 'observer'] as const) {
      expect((await (await newClient(role)).post('/tokens', LABEL)).status).toBe(403);
    }
  });
});
