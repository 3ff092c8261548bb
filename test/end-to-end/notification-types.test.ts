import { describe, expect, it } from 'vitest';
import { notificationTypeIds, notificationTypeRecord } from '../../shared/contracts/notification-types.ts';
import { useStarted } from '../support/use-started.ts';
import { newClient } from './support/api.ts';

const ids = notificationTypeIds.toSorted();

describe('notification types', () => {
  const client = useStarted(() => newClient('observer'));

  it('are returned in one page', async () => {
    const { status, body } = await client.get('/notification_types');
    expect(status).toBe(200);
    expect(body).toEqual({
      values: ids.map(notificationTypeRecord),
      metadata: { count: ids.length, limit: 50, marker: null, next_marker: null, next_href: null },
    });
  });

  it('are returned by ID, with 404 for an unknown one', async () => {
    expect((await client.get('/notification_types/managed')).body).toEqual({ id: 'managed', fields: null });
    for (const id of ['pager', '__proto__', 'constructor', '%00', 'Webhook']) {
      expect((await client.get(`/notification_types/${id}`)).status).toBe(404);
    }
  });
});
