import { expect, it } from 'vitest';
import { notificationTypeRecord } from '../../shared/contracts/notification-fields.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { newClient } from './support/api.ts';

const ids = notificationTypeIds.toSorted();

it('notification types are returned in pages and by ID', async () => {
  const client = await newClient('observer');
  expect((await client.get('/notification_types')).body).toEqual({
    values: ids.map(notificationTypeRecord),
    metadata: { count: ids.length, limit: 50, marker: null, next_marker: null, next_href: null },
  });
  const first = await client.get('/notification_types?limit=5');
  expect(first.body).toMatchObject({ metadata: { count: 5, limit: 5, next_marker: ids[5] } });
  expect((await client.get('/notification_types/managed')).body).toEqual({ id: 'managed', fields: null });
  expect((await client.get('/notification_types/__proto__')).status).toBe(404);
});
