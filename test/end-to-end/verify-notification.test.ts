import { expect, it } from 'vitest';
import { newClient } from './support/api.ts';

it('recipients need no verification while the setting is off: nothing shows it, and a code verifies nothing', async () => {
  const client = await newClient();
  const created = { label: 'l', type: 'email', details: { address: 'a@example.com' } };
  const id = await client.create(created);
  expect((await client.get(`/notifications/${id}`)).body).toEqual({ id, ...created });
  expect((await client.post(`/notifications/${id}/test`)).body).toMatchObject({ status: 'success' });
  expect(await client.post(`/notifications/${id}/verify`, { code: '123456' })).toMatchObject({
    status: 404,
    body: { details: 'verifyRecipients: is off, so every recipient counts as verified' },
  });
});
