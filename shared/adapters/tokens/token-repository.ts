import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { MAX_TOKENS } from '../../contracts/token.ts';
import type { Role } from '../../domain/authorization.ts';
import type { Clock } from '../../domain/clock.ts';
import { DAY_MS } from '../../domain/day.ts';
import { tokenLimitReached } from '../../domain/errors.ts';
import { newToken, tokenHash } from '../../domain/token.ts';
import { ulid } from '../../domain/ulid.ts';
import type { Audit } from '../audits/audit-log.ts';
import type { TransactItem } from '../dynamodb/transactions.ts';
import { createTokenLists, type TokenEntry } from './token-list.ts';
import { createTokenReader } from './token-reader.ts';

/** A new token with its metadata. The token cannot be read again. */
export type IssuedToken = TokenEntry & { token: string };

/** The result of a revocation. */
export type Revocation = 'revoked' | 'unknown' | 'last_admin';

/**
 * How long the list keeps an entry after its token expired. A day, because a function or an operator whose clock is
 * ahead must not remove the entry of a valid token. With at most 100 unexpired tokens and 100 that expired within the
 * last day, of 1.2 KB each, lists stay below the 400 KB of an item (AWS limit).
 */
const KEPT_AFTER_EXPIRY_MS = DAY_MS;

/**
 * Reads and writes tokens, stored by their SHA-256 hash, and the list of each tenant's tokens (table Tokens). Both
 * change in one transaction, so exactly the listed tokens are valid until they expire (docs/decisions/storage.md#token-list).
 */
export const createTokenRepository = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => {
  const lists = createTokenLists(client, table);
  const { find } = createTokenReader(client, table, clock);

  const isUnexpired = ({ expires_at_ms }: TokenEntry): boolean => expires_at_ms > clock();

  /** Returns the entries without those that expired long ago. */
  const pruned = (entries: readonly TokenEntry[]): TokenEntry[] =>
    entries.filter(({ expires_at_ms }) => expires_at_ms + KEPT_AFTER_EXPIRY_MS > clock());

  const put = (tenant: string, { hash, expires_at_ms, ...entry }: TokenEntry): TransactItem => ({
    Put: { TableName: table, Item: { pk: hash, tenant, ...entry, ttl: expires_at_ms / 1000 } },
  });

  return {
    /**
     * Creates and stores a token.
     *
     * @param audit records the change
     * @throws ServiceError forbiddenError if the tenant is at the limit; serviceUnavailable if every attempt conflicts
     * with another change of the tenant's tokens
     * @throws UnconfirmedChangeError if the token may be stored. In that case it is listed, and counts as one of its
     * role until it is revoked or expires, although nobody knows it
     */
    async issue(
      grant: { tenant: string; role: Role; label: string; expiresInSeconds: number },
      audit: Audit,
    ): Promise<IssuedToken> {
      const { tenant, role, label, expiresInSeconds } = grant;
      const token = newToken();
      const nowMs = clock();
      const entry: TokenEntry = {
        hash: tokenHash(token),
        id: `tk${ulid(nowMs)}`,
        role,
        label,
        created_at_ms: nowMs,
        // The item of the token stores whole seconds.
        expires_at_ms: (Math.floor(nowMs / 1000) + expiresInSeconds) * 1000,
      };
      return lists.change(tenant, ({ tokens }) => {
        if (tokens.filter(isUnexpired).length >= MAX_TOKENS) throw tokenLimitReached(MAX_TOKENS);
        const changed = ['label', 'role', 'expires_at'];
        const others = [put(tenant, entry), audit({ action: 'create-token', target_id: entry.id, changed })];
        return { result: { ...entry, token }, change: { list: { tokens: [...pruned(tokens), entry] }, others } };
      });
    },

    find,

    /** Returns the tenant's tokens, oldest first. Includes those that expired within the last day. */
    async list(tenant: string): Promise<TokenEntry[]> {
      const { tokens } = await lists.read(tenant);
      return tokens.sort((a, b) => (a.id < b.id ? -1 : 1));
    },

    /** Returns when a token of the tenant was last revoked, in ms since the epoch; 0 if none was. */
    lastRevokedAtMs: async (tenant: string): Promise<number> => (await lists.read(tenant)).last_revoked_at_ms,

    /**
     * Revokes a token. Functions may accept it until their cache expires (docs/decisions/api.md#tokens-and-roles). The rule of
     * the last admin is checked with the list that the revocation changes, so of two admins who revoke each other at
     * once only one succeeds.
     *
     * @param audit records the change
     * @param options.canRevokeLastAdmin also revokes the tenant's last unexpired token of role admin
     * @throws ServiceError serviceUnavailable if every attempt conflicts with another change of the tenant's tokens
     * @throws UnconfirmedChangeError
     */
    async revoke(
      tenant: string,
      id: string,
      audit: Audit,
      { canRevokeLastAdmin = false }: { canRevokeLastAdmin?: boolean } = {},
    ): Promise<Revocation> {
      let isFound = false;
      return lists.change<Revocation>(tenant, ({ tokens }) => {
        const entry = tokens.find((each) => each.id === id && isUnexpired(each));
        // Several requests for the same token succeed, whichever is first.
        if (!entry) return { result: isFound ? 'revoked' : 'unknown' };
        isFound = true;
        const others = tokens.filter((each) => each !== entry);
        const isLastAdmin =
          entry.role === 'admin' && !others.some((each) => each.role === 'admin' && isUnexpired(each));
        if (isLastAdmin && !canRevokeLastAdmin) return { result: 'last_admin' };
        return {
          result: 'revoked',
          change: {
            list: { tokens: pruned(others), last_revoked_at_ms: clock() },
            others: [
              { Delete: { TableName: table, Key: { pk: entry.hash } } },
              audit({ action: 'revoke-token', target_id: id }),
            ],
          },
        };
      });
    },
  };
};

/** Reads and writes the table Tokens. */
export type TokenRepository = ReturnType<typeof createTokenRepository>;
