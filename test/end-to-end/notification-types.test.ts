import { beforeAll, describe, expect, it } from 'vitest';
import { notificationTypeIds, notificationTypeRecord } from '../../shared/contracts/notification-types.ts';
import { type Client, newClient } from './support/api.ts';

const ids = notificationTypeIds.toSorted();

describe('notification types', () => {
  let client: Client;
  beforeAll(async () => {
    client = await newClient('observer');
  });

  it('are returned in one page', async () => {
    const { status, body } = await client.get('/notification_types');
    expect(status).toBe(200);
    expect(body).toEqual({
      values: ids.map(notificationTypeRecord),
      metadata: { count: ids.length, limit: 50, marker: null, next_marker: null, next_href: null },
    });
  });

  it('are paged like any list', async () => {
    const first = await client.get('/notification_types?limit=5');
    expect(first.body).toMatchObject({ metadata: { count: 5, limit: 5, next_marker: ids[5] } });
    const second = await client.get(Object(first.body).metadata.next_href);
    expect(Object(second.body).values.map(({ id }: { id: string }) => id)).toEqual(ids.slice(5, 10));
    expect((await client.get('/notification_types?limit=0')).status).toBe(400);
  });

  it('are returned by ID, with 404 for an unknown one', async () => {
    expect((await client.get('/notification_types/managed')).body).toEqual({ id: 'managed', fields: null });
    for (const id of ['pager', '__proto__', 'constructor', '%00', 'Webhook']) {
      expect((await client.get(`/notification_types/${id}`)).status).toBe(404);
    }
  });
});
