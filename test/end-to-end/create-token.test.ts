import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { isWellFormedToken } from '../../shared/domain/token.ts';
import { type Client, call, newClient } from './support/api.ts';

const created = z.strictObject({
  id: z.string(),
  token: z.string(),
  role: z.string(),
  label: z.string(),
  expires_at: z.number(),
});

const create = async (client: Client, body: object) => {
  const response = await client.post('/tokens', body);
  expect(response.status, response.text).toBe(201);
  return created.parse(response.body);
};

describe('creating a token', () => {
  it('returns a token that works at once with its role, for the tenant of the caller', async () => {
    const admin = await newClient();
    const id = await admin.create({ label: 'm', type: 'managed' });
    const statuses = { admin: [200, 204, 204], creator: [200, 204, 403], observer: [200, 403, 403] };
    for (const role of ['observer', 'creator', 'admin'] as const) {
      const { token, ...shown } = await create(admin, { label: 'ci', role });
      expect(shown).toMatchObject({ role, label: 'ci', id: expect.stringMatching(/^tk[0-9A-Z]{26}$/) });
      expect(isWellFormedToken(token)).toBe(true);
      const path = `/notifications/${id}`;
      const responses = [
        await call('GET', path, { token }),
        await call('PUT', path, { token, body: { label: 'x' } }),
        await call('DELETE', path, { token }),
      ];
      expect(responses.map(({ status }) => status)).toEqual(statuses[role]);
    }
  });
});
