import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type Client, newClient, webhook } from './support/api.ts';
import { collectionsOf } from './support/collections.ts';

const { list, follow } = collectionsOf(z.looseObject({ id: z.string() }));

/** Returns the IDs on all pages. */
const idsOf = async (...request: Parameters<typeof follow>): Promise<string[]> =>
  (await follow(...request)).map(({ id }) => id);

const DEFAULT_ID = 'ntTechnicalContactsEmail';

describe('listing notifications', () => {
  let client: Client;
  let ids: string[];
  beforeAll(async () => {
    client = await newClient();
    ids = [];
    for (let index = 0; index < 7; index++) ids.push(await client.create({ ...webhook, label: `n${index}` }));
    ids.push(DEFAULT_ID);
  });

  it('returns all in the order of their creation, the default notification last', async () => {
    const { values, metadata } = await list(client, '/notifications');
    expect(values.map(({ id }) => id)).toEqual(ids);
    expect(metadata).toEqual({ count: 8, limit: 50, marker: null, next_marker: null, next_href: null });
  });

  it('returns only the default notification for a new account', async () => {
    expect(await idsOf(await newClient(), '/notifications')).toEqual([DEFAULT_ID]);
  });

  it('pages by limit and marker, and links to the next page', async () => {
    const { values, metadata } = await list(client, `/notifications?limit=3&marker=${ids[2]}`);
    expect(values.map(({ id }) => id)).toEqual(ids.slice(2, 5));
    expect(metadata).toMatchObject({ count: 3, limit: 3, marker: ids[2], next_marker: ids[5] });
    for (const limit of [1, 2, 3, 7, 8, 9]) expect(await idsOf(client, `/notifications?limit=${limit}`)).toEqual(ids);
  });

  it('continues after a marker whose notification was deleted', async () => {
    const other = await newClient();
    const created = [await other.create(webhook), await other.create(webhook), await other.create(webhook)];
    const first = await list(other, '/notifications?limit=1');
    expect(first.metadata.next_marker).toBe(created[1]);
    await other.delete(`/notifications/${created[1]}`);
    expect(await idsOf(other, first.metadata.next_href ?? '')).toEqual([created[2], DEFAULT_ID]);
  });

  it('filters by ID, without duplicates, in order, page by page', async () => {
    const requested = [ids[5], DEFAULT_ID, ids[1], 'unknown', ids[1], 'nt01ARZ3NDEKTSV4RRFFQ69G5FAV', ids[3]];
    const query = requested.map((id) => `id=${id}`).join('&');
    expect(await idsOf(client, `/notifications?${query}`)).toEqual([ids[1], ids[3], ids[5], DEFAULT_ID]);
    expect(await idsOf(client, `/notifications?limit=1&${query}`)).toEqual([ids[1], ids[3], ids[5], DEFAULT_ID]);
    expect(await idsOf(client, '/notifications?id=unknown')).toEqual([]);
    expect(await idsOf(client, `/notifications?id=${ids[0]},${ids[1]}`)).toEqual([]);
  });

  it("never returns another tenant's notifications", async () => {
    const other = await newClient();
    expect(await idsOf(other, `/notifications?id=${ids[0]}&id=${DEFAULT_ID}`)).toEqual([DEFAULT_ID]);
    expect(await idsOf(other, `/notifications?marker=${ids[0]}`)).toEqual([DEFAULT_ID]);
  });

  it.each(['0', '1001', '-1', '1.5', 'ten', '', '1e2', '٣', '%00', '99999999999999999999'])(
    'rejects the limit "%s" with invalidLimit',
    async (limit) => {
      const { status, body } = await client.get(`/notifications?limit=${limit}`);
      expect(status).toBe(400);
      expect(body).toMatchObject({
        type: 'invalidLimit',
        code: 400,
        details: 'limit: must be a whole number from 1 to 1000',
      });
    },
  );

  it.each(['%00', 'x'.repeat(5_000), '%F0%9F%98%80', 'a', 'zzz', '%ZZ', '%', 'nt%0A'])(
    'accepts any marker, such as %s',
    async (marker) => {
      expect((await client.get(`/notifications?marker=${marker}`)).status).toBe(200);
    },
  );

  it('ignores unknown query parameters', async () => {
    expect(await idsOf(client, '/notifications?color=red&limit=2')).toEqual(ids);
  });

  it('returns each of 200 notifications exactly once while others are created and deleted', async () => {
    const busy = await newClient();
    const created: string[] = [];
    for (let start = 0; start < 220; start += 44) {
      created.push(...(await Promise.all(Array.from({ length: 44 }, () => busy.create(webhook)))));
    }
    const toDelete = created.filter((_, index) => index % 11 === 0);
    const kept = created.filter((_, index) => index % 11 !== 0).sort();
    const visited = await idsOf(busy, '/notifications?limit=9', async () => {
      const deleted = toDelete.pop();
      await Promise.all([busy.create(webhook), ...(deleted ? [busy.delete(`/notifications/${deleted}`)] : [])]);
    });
    expect(kept).toHaveLength(200);
    expect(new Set(visited).size).toBe(visited.length);
    const seen = new Set(visited);
    expect(kept.filter((id) => !seen.has(id))).toEqual([]);
    expect(visited).toEqual(visited.toSorted());
  });
});
