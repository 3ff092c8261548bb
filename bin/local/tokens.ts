import { z } from 'zod';
import type { Role } from '../../shared/contracts/token.ts';

/** Tokens for each role of tenant `acme`, and an admin token of tenant `globex`. */
export const tokensSchema = z.strictObject({
  admin: z.string(),
  creator: z.string(),
  observer: z.string(),
  other_admin: z.string(),
});

/** Tokens for each role of tenant `acme`, and an admin token of tenant `globex`. */
export type Tokens = z.infer<typeof tokensSchema>;

/** The tenant and the role of each token. */
export const GRANTS = {
  admin: { tenant: 'acme', role: 'admin' },
  creator: { tenant: 'acme', role: 'creator' },
  observer: { tenant: 'acme', role: 'observer' },
  other_admin: { tenant: 'globex', role: 'admin' },
} as const satisfies Record<keyof Tokens, { tenant: string; role: Role }>;

/** The tenant of each token. */
export const tokenTenants: Readonly<Record<keyof Tokens, string>> = {
  admin: GRANTS.admin.tenant,
  creator: GRANTS.creator.tenant,
  observer: GRANTS.observer.tenant,
  other_admin: GRANTS.other_admin.tenant,
};

/** The tenants that have tokens. */
export const TENANTS: readonly string[] = [...new Set(Object.values(tokenTenants))];
