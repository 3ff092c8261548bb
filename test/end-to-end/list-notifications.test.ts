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

  it('pages by limit and marker, and links to the next page', async () => {
    const { values, metadata } = await list(client, `/notifications?limit=3&marker=${ids[2]}`);
    expect(values.map(({ id }) => id)).toEqual(ids.slice(2, 5));
    expect(metadata).toMatchObject({ count: 3, limit: 3, marker: ids[2], next_marker: ids[5] });
    for (const limit of [1, 2, 3, 7, 8, 9]) expect(await idsOf(client, `/notifications?limit=${limit}`)).toEqual(ids);
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
});
