import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type Client, newClient, webhook } from './support/api.ts';

describe('updating a notification', () => {
  let client: Client;
  beforeAll(async () => {
    client = await newClient('creator');
  });
  const read = async (id: string) => (await client.get(`/notifications/${id}`)).body;

  it('changes the attributes that the body names and keeps the others', async () => {
    const id = await client.create({ ...webhook, metadata: { a: '1' } });
    const answer = await client.put(`/notifications/${id}`, { label: 'New' });
    expect(answer.status).toBe(204);
    expect(answer.text).toBe('');
    expect(answer.headers.get('location')).toBe(`${inject('stack').base_url}/notifications/${id}`);
    expect(await read(id)).toEqual({ id, ...webhook, label: 'New', metadata: { a: '1' } });
  });

  it('replaces details and metadata whole', async () => {
    const id = await client.create({ ...webhook, details: { ...webhook.details, extra: 'x' }, metadata: { a: '1' } });
    await client.put(`/notifications/${id}`, { details: { url: 'http://example.org/' }, metadata: { b: '2' } });
    expect(await read(id)).toEqual({ id, ...webhook, details: { url: 'http://example.org/' }, metadata: { b: '2' } });
  });

  it('changes the type together with its details, and refuses a type that the old details do not fit', async () => {
    const id = await client.create(webhook);
    const refused = await client.put(`/notifications/${id}`, { type: 'sms' });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('details.phone_number: is required');
    expect(await read(id)).toEqual({ id, ...webhook });
    await client.put(`/notifications/${id}`, { type: 'sms', details: { phone_number: '+4915112345678' } });
    expect(await read(id)).toEqual({ id, ...webhook, type: 'sms', details: { phone_number: '+4915112345678' } });
  });

  it('changes nothing for an empty object or for nulls', async () => {
    const id = await client.create(webhook);
    expect((await client.put(`/notifications/${id}`, {})).status).toBe(204);
    expect((await client.put(`/notifications/${id}`, { label: null, metadata: null })).status).toBe(204);
    expect(await read(id)).toEqual({ id, ...webhook });
  });

  it('lets of many updates at once each count, and mixes none', async () => {
    const id = await client.create(webhook);
    const updates = Array.from({ length: 8 }, (_, index) =>
      client.put(`/notifications/${id}`, { label: `L${index}`, metadata: { by: `L${index}` } }),
    );
    const details = client.put(`/notifications/${id}`, { details: { url: 'https://new.example.com/' } });
    const statuses = (await Promise.all([...updates, details])).map(({ status }) => status);
    expect(statuses.every((status) => status === 204 || status === 503)).toBe(true);
    expect(statuses.at(-1)).toBe(204);
    const found = Object(await read(id));
    expect(found.details).toEqual({ url: 'https://new.example.com/' });
    expect(found.metadata).toEqual({ by: found.label });
  });

  it('answers 404 for an unknown id and 403 for the default notification, which stays as it is', async () => {
    expect((await client.put('/notifications/nt01ARZ3NDEKTSV4RRFFQ69G5FAV', { label: 'x' })).status).toBe(404);
    const answer = await client.put('/notifications/ntTechnicalContactsEmail', { label: 'x' });
    expect([answer.status, Object(answer.body).type]).toEqual([403, 'forbiddenError']);
    expect(await read('ntTechnicalContactsEmail')).toMatchObject({ label: 'Email All Technical Contacts' });
  });
});
