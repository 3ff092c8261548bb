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
      .replace('{notificationId}', 'ntTechnicalContactsEmail')
      .replace('{notificationTypeId}', 'sms')
      .replace('{tokenId}', 'unknown'),
  };
});

describe('authentication', () => {
  describe.each(operations)('$name', ({ method, path, permission }) => {
    it('returns 401 without a valid token, even if the body is invalid too', async () => {
      const valid = await tokenFor(newTenant());
      const tampered = valid.slice(0, -1) + (valid.endsWith('A') ? 'B' : 'A');
      for (const token of [undefined, 'garbage', tampered]) {
        const response = await call(method, path, { token, ...(method !== 'GET' && { body: '{not json' }) });
        expect(response.status, String(token)).toBe(401);
        expect(response.body).toMatchObject({ type: 'unauthorizedError', code: 401 });
      }
    });

    it('checks the role before it validates the request', async () => {
      for (const role of ['observer', 'creator', 'admin'] as const) {
        const token = await tokenFor(newTenant(), role);
        const response = await call(method, path, { token, ...(method !== 'GET' && { body: '{not json' }) });
        const allowed = {
          admin: true,
          creator: !['delete', 'administer'].includes(permission),
          observer: permission === 'read',
        }[role];
        // Deleting the default notification returns 403 for every role. Only the details contain the reason.
        const refusedByRole = response.status === 403 && response.text.includes(`role ${role}`);
        expect(refusedByRole, `${role} ${response.status}`).toBe(!allowed);
      }
    });
  });

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
