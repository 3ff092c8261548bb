import { expect, it } from 'vitest';
import { newClient } from './support/api.ts';

it('technical contacts need no verification while the setting is off', async () => {
  const client = await newClient();
  await client.put('/account', { technical_contacts: ['a@example.com'] });
  expect((await client.get('/account')).body).not.toHaveProperty('unverified_contacts');
  expect((await client.post('/account/verify', { address: 'a@example.com', code: '123456' })).status).toBe(404);
});

it('only an admin verifies technical contacts', async () => {
  const client = await newClient('creator');
  expect((await client.post('/account/verify', { address: 'a@example.com', code: '123456' })).status).toBe(403);
});
