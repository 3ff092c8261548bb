import type { Permission } from '../contracts/endpoints.ts';
import type { Role } from '../contracts/token.ts';

export type { Role };

const permissions: Record<Role, readonly Permission[]> = {
  admin: ['create', 'read', 'update', 'delete', 'test', 'redeliver', 'administer'],
  creator: ['create', 'read', 'update', 'test', 'redeliver'],
  observer: ['read'],
};

const isRole = (role: string): role is Role => Object.hasOwn(permissions, role);

/** Returns whether the role has the permission. Unknown roles have none. */
export const isPermitted = (role: string, permission: Permission): boolean =>
  isRole(role) && permissions[role].includes(permission);

/** The tenant whose resources a request can access, the role that limits its operations, and the token that it has. */
export type Caller = {
  readonly tenant: string;
  readonly role: string;
  readonly token: { readonly id: string; readonly label: string };
};
