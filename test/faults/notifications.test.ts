import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type Client, webhook } from '../support/api.ts';
import { useFaultyStack } from './support.ts';

const LIMIT = 3;
const page = z.object({ values: z.array(z.object({ id: z.string() })) });

const harness = useFaultyStack({ notificationsPerTenant: String(LIMIT) });
let client: Client;

describe('the notifications of an account', () => {
  const newClient = async () => {
    client = await harness.newClient();
    return client;
  };

  const listIds = async (path = '/notifications?limit=1000') =>
    page.parse((await client.get(path)).body).values.map(({ id }) => id);

  it('are limited per account: creating more returns 403 until one is deleted', async () => {
    await newClient();
    const ids: string[] = [];
    while (ids.length < LIMIT) ids.push(await client.create(webhook));
    const refused = await client.post('/notifications', webhook);
    expect(refused.status).toBe(403);
    expect(refused.body).toMatchObject({
      type: 'forbiddenError',
      code: 403,
      details: `notificationsPerTenant: at most ${LIMIT} notifications in an account`,
    });
    expect((await client.put(`/notifications/${ids[0]}`, { label: 'changed' })).status).toBe(204);
    await client.delete(`/notifications/${ids[0]}`);
    const created = await client.create(webhook);
    expect(await listIds()).toEqual([...ids.slice(1), created, 'ntTechnicalContactsEmail']);
    expect((await client.post('/notifications', webhook)).status).toBe(403);
    await newClient();
    await client.create(webhook);
  });
});
