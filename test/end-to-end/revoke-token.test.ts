import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type Client, call, newClient } from './support/api.ts';

const created = z.object({ id: z.string(), token: z.string() });
const page = z.object({ values: z.array(z.object({ id: z.string(), role: z.string() })) });

const create = async (client: Client, role: 'admin' | 'creator' | 'observer' = 'observer') =>
  created.parse((await client.post('/tokens', { label: 'l', role })).body);
const list = async (client: Client) => page.parse((await client.get('/tokens')).body).values;

describe('revoking a token', () => {
  it('returns 204 with an empty body, and 404 from then on', async () => {
    const client = await newClient();
    const { id, token } = await create(client);
    const response = await client.delete(`/tokens/${id}`);
    expect([response.status, response.text]).toEqual([204, '']);
    expect((await call('GET', '/notifications', { token })).status).toBe(401);
    expect((await list(client)).map((each) => each.id)).not.toContain(id);
    const repeated = await client.delete(`/tokens/${id}`);
    expect(repeated.status).toBe(404);
    expect(repeated.body).toMatchObject({ type: 'notFoundError', message: 'The token was not found.' });
  });

  it('returns 404 for an unknown ID, and the same for a token of another tenant, which keeps working', async () => {
    const [client, other] = [await newClient(), await newClient()];
    const { id, token } = await create(other);
    const unknown = await client.delete('/tokens/tk01ARZ3NDEKTSV4RRFFQ69G5FAV');
    const foreign = await client.delete(`/tokens/${id}`);
    expect([unknown.status, foreign.status]).toEqual([404, 404]);
    const withoutId = (body: unknown) => ({ ...Object(body), request_id: '' });
    expect(withoutId(foreign.body)).toEqual(withoutId(unknown.body));
    for (const malformed of ['%00', 'x'.repeat(1_000), '__proto__', encodeURIComponent(client.token)]) {
      expect((await client.delete(`/tokens/${malformed}`)).status, malformed).toBe(404);
    }
    expect((await call('GET', '/account', { token })).status).toBe(200);
  });

  it('returns 403 for the last admin token, which keeps working', async () => {
    const client = await newClient();
    await create(client, 'creator');
    const [own] = (await list(client)).filter(({ role }) => role === 'admin');
    const response = await client.delete(`/tokens/${own?.id}`);
    expect(response.status).toBe(403);
    expect(response.body).toMatchObject({
      type: 'forbiddenError',
      code: 403,
      message: 'The last admin token cannot be revoked.',
      details: 'id: is the only unexpired token of role admin; create another one first',
    });
    const { token } = await create(client, 'admin');
    expect((await client.delete(`/tokens/${own?.id}`)).status).toBe(204);
    expect((await call('GET', '/tokens', { token })).status).toBe(200);
  });
});
