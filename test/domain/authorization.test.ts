import { describe, expect, it } from 'vitest';
import { endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';
import { isPermitted } from '../../shared/domain/authorization.ts';

const permissions = ['create', 'read', 'update', 'delete', 'test', 'redeliver', 'administer'] as const;

describe('the permissions of a role', () => {
  it.each([
    ['admin', permissions],
    ['creator', permissions.filter((permission) => !['delete', 'administer'].includes(permission))],
    ['observer', ['read']],
  ] as const)('are those of the API contract: %s', (role, permitted) => {
    expect(permissions.filter((permission) => isPermitted(role, permission))).toEqual(permitted);
  });

  it.each(['', 'Admin', 'owner', '__proto__', 'constructor', 'toString'])(
    'are none for the unknown role "%s"',
    (role) => {
      expect(endpointNames.some((name) => isPermitted(role, endpoints[name].permission))).toBe(false);
    },
  );
});
