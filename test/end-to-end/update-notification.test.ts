import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type Client, newClient, webhook } from './support/api.ts';

describe('updating a notification', () => {
  let client: Client;
  beforeAll(async () => {
    client = await newClient('creator');
  });
  const read = async (id: string) => (await client.get(`/notifications/${id}`)).body;

  it('changes the attributes in the body and keeps the others', async () => {
    const id = await client.create({ ...webhook, metadata: { a: '1' } });
    const response = await client.put(`/notifications/${id}`, { label: 'New' });
    expect(response.status).toBe(204);
    expect(response.text).toBe('');
    expect(response.headers.get('location')).toBe(`${inject('stack').base_url}/notifications/${id}`);
    expect(await read(id)).toEqual({ id, ...webhook, label: 'New', metadata: { a: '1' } });
  });

  it('returns 404 for an unknown ID and 403 for the default notification, which stays unchanged', async () => {
    expect((await client.put('/notifications/nt01ARZ3NDEKTSV4RRFFQ69G5FAV', { label: 'x' })).status).toBe(404);
    const response = await client.put('/notifications/ntTechnicalContactsEmail', { label: 'x' });
    expect(response.status).toBe(403);
    expect(response.body).toMatchObject({
      type: 'forbiddenError',
      message: 'The default notification cannot be changed.',
      details: 'id: ntTechnicalContactsEmail belongs to every account and can be neither updated nor deleted',
    });
    expect(await read('ntTechnicalContactsEmail')).toMatchObject({ label: 'Email All Technical Contacts' });
  });
});
