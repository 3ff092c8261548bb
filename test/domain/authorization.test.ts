import { describe, expect, it } from 'vitest';
import { endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';
import { isPermitted } from '../../shared/domain/authorization.ts';

describe('the permissions of a role', () => {
  it.each([
    ['admin', { create: true, read: true, update: true, delete: true, test: true, redeliver: true, administer: true }],
    [
      'creator',
      { create: true, read: true, update: true, delete: false, test: true, redeliver: true, administer: false },
    ],
    [
      'observer',
      { create: false, read: true, update: false, delete: false, test: false, redeliver: false, administer: false },
    ],
  ] as const)('match the API contract for %s: %j', (role, expected) => {
    const permissions = ['create', 'read', 'update', 'delete', 'test', 'redeliver', 'administer'] as const;
    expect(Object.fromEntries(permissions.map((permission) => [permission, isPermitted(role, permission)]))).toEqual(
      expected,
    );
  });

  it.each(['', 'Admin', 'owner', '__proto__', 'constructor', 'toString'])(
    'are none for the unknown role "%s"',
    (role) => {
      expect(endpointNames.some((name) => isPermitted(role, endpoints[name].permission))).toBe(false);
    },
  );
});
