import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type Client, newClient, webhook } from './support/api.ts';

const envelope = z.strictObject({
  values: z.array(z.looseObject({ id: z.string() })),
  metadata: z.strictObject({
    count: z.number(),
    limit: z.number(),
    marker: z.string().nullable(),
    next_marker: z.string().nullable(),
    next_href: z.string().nullable(),
  }),
});

const list = async (client: Client, path: string) => {
  const answer = await client.get(path);
  expect(answer.status, answer.text).toBe(200);
  return envelope.parse(answer.body);
};

const follow = async (client: Client, path: string, onPage: () => Promise<unknown> = async () => undefined) => {
  const ids: string[] = [];
  for (let href: string | null = path; href !== null; ) {
    const page: z.infer<typeof envelope> = await list(client, href);
    ids.push(...page.values.map(({ id }) => id));
    href = page.metadata.next_href;
    await onPage();
  }
  return ids;
};

const DEFAULT = 'ntTechnicalContactsEmail';

describe('listing notifications', () => {
  let client: Client;
  let ids: string[];
  beforeAll(async () => {
    client = await newClient();
    ids = [];
    for (let index = 0; index < 7; index++) ids.push(await client.create({ ...webhook, label: `n${index}` }));
    ids.push(DEFAULT);
  });

  it('gives all of them in the order in which they were created, the default one last, in one envelope', async () => {
    const { values, metadata } = await list(client, '/notifications');
    expect(values.map(({ id }) => id)).toEqual(ids);
    expect(metadata).toEqual({ count: 8, limit: 50, marker: null, next_marker: null, next_href: null });
  });

  it('gives a new account its default notification alone', async () => {
    expect(await follow(await newClient(), '/notifications')).toEqual([DEFAULT]);
  });

  it('pages by limit and marker, and says where the next page is', async () => {
    const { values, metadata } = await list(client, `/notifications?limit=3&marker=${ids[2]}`);
    expect(values.map(({ id }) => id)).toEqual(ids.slice(2, 5));
    expect(metadata).toMatchObject({ count: 3, limit: 3, marker: ids[2], next_marker: ids[5] });
    for (const limit of [1, 2, 3, 7, 8, 9]) expect(await follow(client, `/notifications?limit=${limit}`)).toEqual(ids);
  });

  it('goes on from a marker that no longer exists', async () => {
    const own = await newClient();
    const made = [await own.create(webhook), await own.create(webhook), await own.create(webhook)];
    const first = await list(own, '/notifications?limit=1');
    expect(first.metadata.next_marker).toBe(made[1]);
    await own.delete(`/notifications/${made[1]}`);
    expect(await follow(own, first.metadata.next_href ?? '')).toEqual([made[2], DEFAULT]);
  });

  it('gives those that are named by id, each once, in order, page by page', async () => {
    const named = [ids[5], DEFAULT, ids[1], 'unknown', ids[1], 'nt01ARZ3NDEKTSV4RRFFQ69G5FAV', ids[3]];
    const query = named.map((id) => `id=${id}`).join('&');
    expect(await follow(client, `/notifications?${query}`)).toEqual([ids[1], ids[3], ids[5], DEFAULT]);
    expect(await follow(client, `/notifications?limit=1&${query}`)).toEqual([ids[1], ids[3], ids[5], DEFAULT]);
    expect(await follow(client, '/notifications?id=unknown')).toEqual([]);
    expect(await follow(client, `/notifications?id=${ids[0]},${ids[1]}`)).toEqual([]);
  });

  it("never shows another tenant's notifications", async () => {
    const other = await newClient();
    expect(await follow(other, `/notifications?id=${ids[0]}&id=${DEFAULT}`)).toEqual([DEFAULT]);
    expect(await follow(other, `/notifications?marker=${ids[0]}`)).toEqual([DEFAULT]);
  });

  it.each(['0', '1001', '-1', '1.5', 'ten', '', '1e2', '٣', '%00', '99999999999999999999'])(
    'refuses the limit "%s" with invalidLimit',
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
    'takes the hostile marker %s as a place in the order',
    async (marker) => {
      expect((await client.get(`/notifications?marker=${marker}`)).status).toBe(200);
    },
  );

  it('ignores query parameters that it does not know', async () => {
    expect(await follow(client, '/notifications?colour=red&limit=2')).toEqual(ids);
  });

  it('visits each of 900 that stay exactly once while others come and go', { timeout: 180_000 }, async () => {
    const busy = await newClient();
    const made: string[] = [];
    for (let start = 0; start < 990; start += 45) {
      made.push(...(await Promise.all(Array.from({ length: 45 }, () => busy.create(webhook)))));
    }
    const doomed = made.filter((_, index) => index % 11 === 0);
    const staying = made.filter((_, index) => index % 11 !== 0).sort();
    const visited = await follow(busy, '/notifications?limit=37', async () => {
      const victim = doomed.pop();
      await Promise.all([busy.create(webhook), ...(victim ? [busy.delete(`/notifications/${victim}`)] : [])]);
    });
    expect(staying).toHaveLength(900);
    expect(new Set(visited).size).toBe(visited.length);
    const seen = new Set(visited);
    expect(staying.filter((id) => !seen.has(id))).toEqual([]);
    expect(visited).toEqual(visited.toSorted());
  });
});
