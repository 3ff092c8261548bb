import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Client } from '../support/api.ts';
import { useFaultyStack } from './support.ts';

const harness = useFaultyStack();

const created = z.object({ id: z.string(), token: z.string() });
const page = z.object({ values: z.array(z.looseObject({ id: z.string(), issuer: z.optional(z.string()) })) });
const create = async (client: Client, role = 'observer') =>
  created.parse((await client.post('/tokens', { label: 'l', role })).body);
const statusWith = async (token: string): Promise<number> => (await harness.call('GET', '/account', { token })).status;

describe('a revoked token', () => {
  it('takes along what tokens issued since a time, with an audit entry for each token', async () => {
    const client = await harness.newClient();
    const { id, token } = await create(client, 'admin');
    const issue = async () =>
      created.parse((await harness.call('POST', '/tokens', { token, body: { label: 'l', role: 'admin' } })).body);
    const earlier = await issue();
    const since = harness.stack.clock.now() + 1_000;
    await harness.stack.advance(1_000);
    const later = await issue();
    const listed = page.parse((await client.get('/tokens')).body).values;
    expect(listed.map(({ issuer }) => issuer)).toEqual(['operator', expect.stringMatching(/^tk/), id, id]);
    expect((await client.delete(`/tokens/${id}?issued_since=${since}`)).status).toBe(204);
    expect(page.parse((await client.get('/tokens')).body).values.map((each) => each.id)).toContain(earlier.id);
    expect(await Promise.all([earlier, later].map((each) => statusWith(each.token)))).toEqual([200, 401]);
    const { values } = page.parse((await client.get('/audits?reverse=true&limit=2')).body);
    const revocation = (target_id: string) => expect.objectContaining({ action: 'revoke-token', target_id });
    expect(values).toEqual(expect.arrayContaining([revocation(later.id), revocation(id)]));
  });

  it('is not revoked by a request with a malformed or future time, which names the parameter', async () => {
    const client = await harness.newClient();
    const { id, token } = await create(client);
    const future = harness.stack.clock.now() + 60_000;
    for (const text of ['', 'yesterday', '1795295478', '-1', String(future)]) {
      const response = await client.delete(`/tokens/${id}?issued_since=${text}`);
      expect(response.status).toBe(400);
      expect(response.body).toMatchObject({
        type: 'badRequest',
        details: expect.stringMatching(/^issued_since: must/),
      });
    }
    expect(await statusWith(token)).toBe(200);
  });
});
