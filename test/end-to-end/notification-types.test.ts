import { beforeAll, describe, expect, it } from 'vitest';
import { type Client, newClient } from './support/api.ts';

describe('notification types', () => {
  let client: Client;
  beforeAll(async () => {
    client = await newClient('observer');
  });

  it('are returned in one page', async () => {
    const { status, body } = await client.get('/notification_types');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      values: [
        { id: 'atomfeed', fields: [{ name: 'category', optional: false }] },
        { id: 'email', fields: [{ name: 'address', optional: false }] },
        {
          id: 'incidentpager',
          fields: [
            { name: 'service_key', optional: false },
            { name: 'service_endpoint', optional: true },
          ],
        },
        {
          id: 'incidentrouter',
          fields: [
            { name: 'api_key', optional: false },
            { name: 'routing_key', optional: true },
          ],
        },
        { id: 'managed', fields: null },
        { id: 'sms', fields: [{ name: 'phone_number', optional: false }] },
        { id: 'technicalContactsEmail', fields: null },
        { id: 'webhook', fields: [{ name: 'url', description: expect.any(String), optional: false }] },
      ],
      metadata: { count: 8, limit: 50, marker: null, next_marker: null, next_href: null },
    });
  });

  it('are paged like any list', async () => {
    const first = await client.get('/notification_types?limit=5');
    expect(first.body).toMatchObject({ metadata: { count: 5, limit: 5, next_marker: 'sms' } });
    const second = await client.get(Object(first.body).metadata.next_href);
    expect(Object(second.body).values.map(({ id }: { id: string }) => id)).toEqual([
      'sms',
      'technicalContactsEmail',
      'webhook',
    ]);
    expect((await client.get('/notification_types?limit=0')).status).toBe(400);
  });

  it('are returned by ID, with 404 for an unknown one', async () => {
    expect((await client.get('/notification_types/managed')).body).toEqual({ id: 'managed', fields: null });
    for (const id of ['pager', '__proto__', 'constructor', '%00', 'Webhook']) {
      expect((await client.get(`/notification_types/${id}`)).status).toBe(404);
    }
  });
});
