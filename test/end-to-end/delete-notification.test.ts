import { describe, expect, it } from 'vitest';
import { newClient, webhook } from './support/api.ts';

describe('deleting a notification', () => {
  it('returns 204 with an empty body, and 404 from then on', async () => {
    const client = await newClient();
    const id = await client.create(webhook);
    const response = await client.delete(`/notifications/${id}`);
    expect([response.status, response.text]).toEqual([204, '']);
    expect((await client.get(`/notifications/${id}`)).status).toBe(404);
    expect((await client.delete(`/notifications/${id}`)).status).toBe(404);
    expect((await client.get('/notifications')).body).toMatchObject({ metadata: { count: 1 } });
  });

  it("returns 404 for another tenant's notification and keeps it", async () => {
    const owner = await newClient();
    const id = await owner.create(webhook);
    expect((await (await newClient()).delete(`/notifications/${id}`)).status).toBe(404);
    expect((await owner.get(`/notifications/${id}`)).status).toBe(200);
  });
});
