import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type Client, newClient } from './support/api.ts';
import { collectionsOf } from './support/collections.ts';

const { list, follow } = collectionsOf(z.looseObject({ id: z.string(), created_at: z.number() }));

/** The greatest difference between this clock and that of a deployed stack. */
const CLOCK_SKEW_MS = 60_000;

/** Returns the IDs on all pages. */
const idsOf = async (...request: Parameters<typeof follow>): Promise<string[]> =>
  (await follow(...request)).map(({ id }) => id);

const create = async (client: Client, label: string): Promise<string> =>
  z.object({ id: z.string() }).parse((await client.post('/tokens', { label, role: 'observer' })).body).id;

const createAll = async (client: Client, count: number): Promise<string[]> => {
  const ids: string[] = [];
  while (ids.length < count) ids.push(await create(client, `token ${ids.length}`));
  return ids;
};

describe('listing tokens', () => {
  it('returns all tokens of the tenant in the order of their creation, without the tokens themselves', async () => {
    const client = await newClient();
    const requestedAtMs = Date.now();
    const { body } = await client.post('/tokens', { label: 'ci', role: 'creator', days: 7 });
    const { token, ...shown } = z.looseObject({ token: z.string() }).parse(body);
    const { values, metadata } = await list(client, '/tokens');
    expect(values).toEqual([
      expect.objectContaining({ label: 'test', role: 'admin', issuer: 'operator' }),
      { ...shown, issuer: values[0]?.id, created_at: expect.any(Number) },
    ]);
    expect(metadata).toEqual({ count: 2, limit: 50, marker: null, next_marker: null, next_href: null });
    const [first, second] = values;
    expect(first?.created_at).toBeLessThanOrEqual(second?.created_at ?? 0);
    expect(second?.created_at).toBeGreaterThan(requestedAtMs - CLOCK_SKEW_MS);
    expect(second?.created_at).toBeLessThan(Date.now() + CLOCK_SKEW_MS);
    const { text } = await client.get('/tokens');
    for (const secret of [token, client.token]) expect(text).not.toContain(secret);
  });

  it("never returns another tenant's tokens", async () => {
    const [client, other] = [await newClient(), await newClient()];
    const [foreign = ''] = await createAll(other, 1);
    expect(await idsOf(client, '/tokens')).toHaveLength(1);
    expect(await idsOf(client, `/tokens?marker=${foreign}`)).toEqual([]);
  });
});
