import type { Permission } from '../contracts/endpoints.ts';

const permissions = {
  admin: ['create', 'read', 'update', 'delete', 'test'],
  creator: ['create', 'read', 'update', 'test'],
  observer: ['read'],
} as const satisfies Record<string, readonly Permission[]>;

/** A role of a token (design 2, Roles). */
export type Role = keyof typeof permissions;

/** The roles, for schemas. */
export const roles = ['admin', 'creator', 'observer'] as const satisfies readonly Role[];

/** True where the role holds the permission. */
export const mayRole = (role: Role, permission: Permission): boolean =>
  permissions[role].some((held) => held === permission);

/** Who calls: the only tenant that a request can see, and what it may do there. */
export type Caller = { readonly tenant: string; readonly role: Role };
