import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Client } from '../support/api.ts';
import { useFaultyStack } from './support.ts';

const TOKEN_CACHE_SECONDS = 40;

const harness = useFaultyStack({ tokenCacheSeconds: String(TOKEN_CACHE_SECONDS) });

const created = z.object({ id: z.string(), token: z.string() });
const create = async (client: Client, role = 'observer') =>
  created.parse((await client.post('/tokens', { label: 'l', role })).body);
const statusWith = async (token: string): Promise<number> => (await harness.call('GET', '/account', { token })).status;

describe('a revoked token', () => {
  it('stops working within tokenCacheSeconds, even where it was cached', async () => {
    const client = await harness.newClient();
    const { id, token } = await create(client);
    expect(await statusWith(token)).toBe(200);
    expect((await client.delete(`/tokens/${id}`)).status).toBe(204);
    // The function that cached the token accepts it; a function that reads it does not.
    expect(await statusWith(token)).toBe(200);
    expect((await harness.call('GET', '/notifications', { token })).status).toBe(401);
    await harness.stack.advance(TOKEN_CACHE_SECONDS * 1_000);
    expect(await statusWith(token)).toBe(401);
  });
});
