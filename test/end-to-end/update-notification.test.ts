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

  it('replaces details and metadata as a whole', async () => {
    const id = await client.create({ ...webhook, details: { ...webhook.details, extra: 'x' }, metadata: { a: '1' } });
    await client.put(`/notifications/${id}`, { details: { url: 'http://example.org/' }, metadata: { b: '2' } });
    expect(await read(id)).toEqual({ id, ...webhook, details: { url: 'http://example.org/' }, metadata: { b: '2' } });
  });

  it('changes the type together with its details, and rejects a type that does not match the stored details', async () => {
    const id = await client.create(webhook);
    const rejected = await client.put(`/notifications/${id}`, { type: 'sms' });
    expect(rejected.status).toBe(400);
    expect(rejected.text).toContain('details.phone_number: is required');
    expect(await read(id)).toEqual({ id, ...webhook });
    await client.put(`/notifications/${id}`, { type: 'sms', details: { phone_number: '+4915112345678' } });
    expect(await read(id)).toEqual({ id, ...webhook, type: 'sms', details: { phone_number: '+4915112345678' } });
  });

  it('changes nothing for an empty object or null values', async () => {
    const id = await client.create(webhook);
    expect((await client.put(`/notifications/${id}`, {})).status).toBe(204);
    expect((await client.put(`/notifications/${id}`, { label: null, metadata: null })).status).toBe(204);
    expect(await read(id)).toEqual({ id, ...webhook });
  });

  it('applies every one of nine concurrent updates completely', async () => {
    const id = await client.create(webhook);
    const updates = Array.from({ length: 8 }, (_, index) =>
      client.put(`/notifications/${id}`, { label: `L${index}`, metadata: { by: `L${index}` } }),
    );
    const details = client.put(`/notifications/${id}`, { details: { url: 'https://new.example.com/' } });
    const statuses = (await Promise.all([...updates, details])).map(({ status }) => status);
    expect(statuses).toEqual(statuses.map(() => 204));
    const found = Object(await read(id));
    expect(found.details).toEqual({ url: 'https://new.example.com/' });
    expect(found.metadata).toEqual({ by: found.label });
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
