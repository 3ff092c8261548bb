import { describe, expect, it } from 'vitest';
import { newClient, webhook } from './support/api.ts';

describe('deleting a notification', () => {
  it('answers 204 without a body, and the notification is gone at once', async () => {
    const client = await newClient();
    const id = await client.create(webhook);
    const answer = await client.delete(`/notifications/${id}`);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect((await client.get(`/notifications/${id}`)).status).toBe(404);
    expect((await client.delete(`/notifications/${id}`)).status).toBe(404);
    expect((await client.get('/notifications')).body).toMatchObject({ metadata: { count: 1 } });
  });

  it("answers 404 for another tenant's notification, which stays", async () => {
    const owner = await newClient();
    const id = await owner.create(webhook);
    expect((await (await newClient()).delete(`/notifications/${id}`)).status).toBe(404);
    expect((await owner.get(`/notifications/${id}`)).status).toBe(200);
  });

  it('refuses to delete the default notification with 403', async () => {
    const client = await newClient();
    expect((await client.delete('/notifications/ntTechnicalContactsEmail')).status).toBe(403);
    expect((await client.get('/notifications/ntTechnicalContactsEmail')).status).toBe(200);
  });
});
