import { describe, expect, inject, it } from 'vitest';
import { useStarted } from '../support/use-started.ts';
import { newClient, webhook } from './support/api.ts';

describe('updating a notification', () => {
  const client = useStarted(() => newClient('creator'));
  const read = async (id: string) => (await client.get(`/notifications/${id}`)).body;

  it('changes the attributes in the body and keeps the others', async () => {
    const id = await client.create({ ...webhook, metadata: { a: '1' } });
    const response = await client.put(`/notifications/${id}`, { label: 'New' });
    expect(response.status).toBe(204);
    expect(response.text).toBe('');
    expect(response.headers.get('location')).toBe(`${inject('stack').base_url}/notifications/${id}`);
    expect(await read(id)).toEqual({ id, ...webhook, label: 'New', metadata: { a: '1' } });
  });
});
