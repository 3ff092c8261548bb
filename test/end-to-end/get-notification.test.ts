import { describe, expect, it } from 'vitest';
import { newClient, webhook } from './support/api.ts';

describe('reading a notification', () => {
  it('returns a notification right after it was created', async () => {
    const client = await newClient();
    const id = await client.create(webhook);
    const observer = await newClient('observer', client.tenant);
    const response = await observer.get(`/notifications/${id}`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.body).toEqual({ id, ...webhook });
  });

  it('returns the same 404 for an unknown ID and for the ID of another tenant', async () => {
    const owner = await newClient();
    const id = await owner.create(webhook);
    const other = await newClient();
    const otherTenants = await other.get(`/notifications/${id}`);
    const unknown = await other.get('/notifications/nt01ARZ3NDEKTSV4RRFFQ69G5FAV');
    expect([otherTenants.status, unknown.status]).toEqual([404, 404]);
    expect(otherTenants.body).toEqual({
      type: 'notFoundError',
      code: 404,
      message: expect.any(String),
      details: expect.any(String),
      request_id: expect.any(String),
    });
    expect({ ...Object(otherTenants.body), request_id: '' }).toEqual({ ...Object(unknown.body), request_id: '' });
  });
});
