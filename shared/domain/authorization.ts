import type { Permission } from '../contracts/endpoints.ts';

/** A role of a token (design 2, Roles). */
export type Role = 'admin' | 'creator' | 'observer';

const permissions: Record<Role, readonly Permission[]> = {
  admin: ['create', 'read', 'update', 'delete', 'test'],
  creator: ['create', 'read', 'update', 'test'],
  observer: ['read'],
};

const isRole = (role: string): role is Role => Object.hasOwn(permissions, role);

/** True where the role holds the permission; a role that we do not know holds none. */
export const isPermitted = (role: string, permission: Permission): boolean =>
  isRole(role) && permissions[role].includes(permission);

/** Who calls: the only tenant that a request can see, and what it may do there. */
export type Caller = { readonly tenant: string; readonly role: string };
