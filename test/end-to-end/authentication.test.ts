import { describe, expect, it } from 'vitest';
import { endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';
import { call, newClient, newTenant, tokenFor } from './support/api.ts';

const operations = endpointNames.map((name) => {
  const { method, path, permission } = endpoints[name];
  return {
    name,
    method,
    permission,
    path: path
      .replace('/notifications/{id}', '/notifications/ntTechnicalContactsEmail')
      .replace('/notification_types/{id}', '/notification_types/sms')
      .replace('{id}', 'unknown'),
  };
});

describe('authentication', () => {
  it.each(operations)(
    'comes before the role, and the role before the body: $name',
    async ({ method, path, permission }) => {
      const invalid = method === 'GET' ? {} : { body: '{not json' };
      const valid = await tokenFor(newTenant());
      const tampered = valid.slice(0, -1) + (valid.endsWith('A') ? 'B' : 'A');
      for (const token of [undefined, 'garbage', tampered]) {
        const { body } = await call(method, path, { token, ...invalid });
        expect(body, String(token)).toMatchObject({ type: 'unauthorizedError', code: 401 });
      }
      const permitted = {
        observer: permission === 'read',
        creator: !['delete', 'administer'].includes(permission),
        admin: true,
      };
      for (const role of ['observer', 'creator', 'admin'] as const) {
        const { status, text } = await call(method, path, { token: await tokenFor(newTenant(), role), ...invalid });
        // Deleting the default notification returns 403 for every role. Only the details contain the reason.
        expect([role, status === 403 && text.includes(`role ${role}`)]).toEqual([role, !permitted[role]]);
      }
    },
  );

  it('returns 404 in the common error format for an unknown path or method', async () => {
    const { token } = await newClient();
    for (const [method, path] of [
      ['GET', '/nothing'],
      ['PATCH', '/notifications'],
      ['DELETE', '/notifications'],
      ['GET', '/'],
      ['GET', '//notifications'],
      ['GET', '/notifications/a/b/c'],
      ['GET', '/tokens/unknown'],
    ] as const) {
      const response = await call(method, path, { token });
      expect([path, response.status]).toEqual([path, 404]);
      expect(response.body).toEqual({
        type: 'notFoundError',
        code: 404,
        message: expect.any(String),
        details: expect.any(String),
        request_id: expect.any(String),
      });
    }
  });
});
