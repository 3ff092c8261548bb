import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type Client, newClient, webhook } from './support/api.ts';
import { collectionsOf } from './support/collections.ts';

const { list, follow } = collectionsOf(z.looseObject({ id: z.string() }));

const DEFAULT_ID = 'ntTechnicalContactsEmail';
const UNKNOWN_ID = 'nt01ARZ3NDEKTSV4RRFFQ69G5FAV';

it('a notification does not exist for another tenant, whose response is that for an unknown ID', async () => {
  const [owner, other] = [await newClient(), await newClient()];
  const path = `/notifications/${await owner.create(webhook)}`;
  const responses = [await other.get(path), await other.put(path, {}), await other.delete(path)];
  expect(responses.map(({ status }) => status)).toEqual([404, 404, 404]);
  const unknown = await other.get(`/notifications/${UNKNOWN_ID}`);
  expect({ ...Object(responses[0]?.body), request_id: '' }).toEqual({ ...Object(unknown.body), request_id: '' });
  expect((await owner.get(path)).status).toBe(200);
});

describe('the list of notifications', () => {
  const idsOf = async (...request: Parameters<typeof follow>) => (await follow(...request)).map(({ id }) => id);
  let client: Client;
  let ids: string[];
  beforeAll(async () => {
    client = await newClient();
    ids = [];
    for (let index = 0; index < 3; index++) ids.push(await client.create(webhook));
    ids.push(DEFAULT_ID);
  });

  it('is in the order of creation, the default notification last, page by page', async () => {
    const { metadata } = await list(client, '/notifications');
    expect(metadata).toEqual({ count: 4, limit: 50, marker: null, next_marker: null, next_href: null });
    for (const limit of [1, 3, 4]) expect(await idsOf(client, `/notifications?limit=${limit}`)).toEqual(ids);
  });

  it('has only the requested IDs, page by page, and none of another tenant', async () => {
    const query = [ids[2], DEFAULT_ID, ids[0], 'unknown', ids[0], UNKNOWN_ID].map((id) => `id=${id}`).join('&');
    for (const limit of [1, 50]) {
      expect(await idsOf(client, `/notifications?limit=${limit}&${query}`)).toEqual([ids[0], ids[2], DEFAULT_ID]);
    }
    expect(await idsOf(await newClient(), `/notifications?${query}`)).toEqual([DEFAULT_ID]);
  });
});
