import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { MAX_TOKENS, OPERATOR, type Role } from '../../contracts/token.ts';
import {
  badRequest,
  lastAdminToken,
  notFound,
  tokenLimitReached,
  unauthorized,
  unavailable,
} from '../../domain/errors.ts';
import type { Clock } from '../../domain/time.ts';
import { DAY_MS } from '../../domain/time.ts';
import { newToken, newTokenId, tokenHash } from '../../domain/token.ts';
import type { Audit } from '../audits/audit-log.ts';
import { getItem } from '../dynamodb/items.ts';
import { type TransactItem, transact } from '../dynamodb/transactions.ts';
import { withRetries } from '../waiting.ts';
import { createTokenReader } from './token-reader.ts';

/** How often a change is tried while other requests change the list, and the maximum delay before the next attempt. */
type Persistence = { attempts: number; maxDelayMs: number };

/** Whoever issues tokens waits for the write of another request. */
export const ISSUES: Persistence = { attempts: 20, maxDelayMs: 50 };

/** Revocations try sooner and longer, so that they succeed while others issue tokens in a loop. */
export const REVOCATIONS: Persistence = { attempts: 300, maxDelayMs: 10 };

const entrySchema = z.object({
  /** The SHA-256 of the token in hex, which is the key of its item. */
  hash: z.string(),
  /** The ID in the API: `tk` and a ULID, so IDs sort by creation. */
  id: z.string(),
  role: z.string(),
  label: z.string(),
  /** The ID of the token that issued it, or `OPERATOR`. */
  issuer: z.string(),
  created_at_ms: z.number(),
  expires_at_ms: z.number(),
  /** When it was revoked, ms since the epoch. Absent unless more tokens were revoked than a transaction deletes. */
  revoked_at_ms: z.optional(z.number()),
});

export type TokenEntry = z.infer<typeof entrySchema>;

const storedList = z.object({
  /** Increases with every change, so that a change based on an older list fails its condition. */
  version: z._default(z.number(), 0),
  tokens: z._default(z.array(entrySchema), []),
  /** When a token was last revoked, ms since the epoch. */
  last_revoked_at_ms: z._default(z.number(), 0),
});

export type TokenList = z.infer<typeof storedList>;

export type TokenChange = { list: Partial<Omit<TokenList, 'version'>>; others: readonly TransactItem[] };

/** The keys of tokens are hexadecimal hashes, so they never collide. */
const listKey = (tenant: string) => ({ pk: `tenant#${tenant}` });

/** One item per tenant (table Tokens): neither listing nor revoking scans (docs/decisions/storage.md#token-list). */
export const createTokenLists = (client: DynamoDBDocumentClient, table: string) => {
  const read = async (tenant: string): Promise<TokenList> =>
    storedList.parse((await getItem(client, table, listKey(tenant))) ?? {});

  const put = (tenant: string, { version, ...list }: TokenList): TransactItem => ({
    Put: {
      TableName: table,
      Item: { ...listKey(tenant), ...list, version: version + 1 },
      ConditionExpression: version === 0 ? 'attribute_not_exists(pk)' : 'version = :read',
      ...(version > 0 && { ExpressionAttributeValues: { ':read': version } }),
    },
  });

  return {
    /** With the entries of tokens that expired recently. */
    read,

    /**
     * Changes a list and items of its tokens in one transaction. `decide` is called again if another request changes
     * the list first. @throws ServiceError serviceUnavailable if every attempt conflicts; UnconfirmedChangeError
     */
    async change<Result>(
      tenant: string,
      { attempts, maxDelayMs }: Persistence,
      decide: (list: TokenList) => { result: Result; change?: TokenChange },
    ): Promise<Result> {
      const tryOnce = async (): Promise<{ result: Result } | undefined> => {
        const list = await read(tenant);
        const { result, change } = decide(list);
        if (!change) return { result };
        const items = { others: change.others, list: put(tenant, { ...list, ...change.list }) };
        return (await transact(client, items)).length === 0 ? { result } : undefined;
      };
      const changed = await withRetries(tryOnce, (tried, count) => {
        const hasConflict = tried.status === 'fulfilled' && !tried.value;
        return hasConflict && count < attempts ? Math.random() * maxDelayMs : undefined;
      });
      if (!changed) throw unavailable();
      return changed.result;
    },
  };
};

/** A new token with its metadata. The token cannot be read again. */
export type IssuedToken = TokenEntry & { token: string };

/** A token to issue. `issuer` is the ID of the token that authenticated the request, or `OPERATOR`. */
export type TokenGrant = { tenant: string; role: Role; label: string; expiresInSeconds: number; issuer: string };

/**
 * `revoker` is a token's ID, or `OPERATOR`, who may also revoke the last admin token. `issuedSinceMs` also revokes
 * every other token that a token issued since then: whoever had one may have issued others.
 */
export type RevocationRequest = { tenant: string; id: string; revoker: string; issuedSinceMs?: number | undefined };

/**
 * A clock that is ahead must not remove a valid token's entry. 100 unexpired tokens and 100 that expired within a day,
 * of 1.2 KB each, stay below the 400 KB of an item (AWS limit).
 */
const KEPT_AFTER_EXPIRY_MS = DAY_MS;

/** Each token is a delete and an audit entry, beside the list. A transaction has at most 100 items (AWS limit). */
const MAX_DELETES = 49;

/**
 * Tokens, stored by their SHA-256 hash, and each tenant's list (table Tokens) change in one transaction, so exactly the
 * listed ones are valid until they expire (docs/decisions/storage.md#token-list).
 */
export const createTokenRepository = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => {
  const lists = createTokenLists(client, table);
  const { find } = createTokenReader(client, table, clock);

  const isUnexpired = ({ expires_at_ms }: TokenEntry): boolean => expires_at_ms > clock();

  /** Returns whether a token was revoked and its item is not yet deleted. */
  const isRevoked = (entry: TokenEntry): boolean => entry.revoked_at_ms !== undefined;

  const isValid = (entry: TokenEntry): boolean => !isRevoked(entry) && isUnexpired(entry);

  /** @throws ServiceError unauthorized unless the operator or a valid token of the list makes a change */
  const assertValid = ({ tokens }: TokenList, changer: string): void => {
    if (changer !== OPERATOR && !tokens.some((entry) => entry.id === changer && isValid(entry))) throw unauthorized();
  };

  const pruned = (entries: readonly TokenEntry[]): TokenEntry[] =>
    entries.filter(({ expires_at_ms }) => expires_at_ms + KEPT_AFTER_EXPIRY_MS > clock());

  const put = (tenant: string, { hash, id, role, label, created_at_ms, expires_at_ms }: IssuedToken): TransactItem => ({
    Put: { TableName: table, Item: { pk: hash, tenant, id, role, label, created_at_ms, ttl: expires_at_ms / 1000 } },
  });

  /**
   * The first transaction revokes all in the list, so that none issues a token. It and the next ones delete what
   * earlier revocations left and then these, not what is issued meanwhile.
   */
  const revokeSelected = async (
    tenant: string,
    audit: Audit,
    select: (list: TokenList) => readonly TokenEntry[],
  ): Promise<TokenEntry[]> => {
    const revoked: TokenEntry[] = [];
    const revokeSome = (list: TokenList) => {
      const selected = revoked.length === 0 ? select(list) : [];
      const left = list.tokens.filter((entry) => isRevoked(entry) && !selected.includes(entry));
      const all = [...left, ...selected];
      if (all.length === 0) return { result: [] };
      const deleted = all.slice(0, MAX_DELETES);
      // The list keeps the order in which the next transactions delete them.
      const tokens = [
        ...list.tokens.filter((entry) => !all.includes(entry)),
        ...all.slice(MAX_DELETES).map((entry) => ({ revoked_at_ms: clock(), ...entry })),
      ];
      const others = deleted.flatMap(({ id, hash }): TransactItem[] => [
        { Delete: { TableName: table, Key: { pk: hash } } },
        audit({ action: 'revoke-token', target_id: id }),
      ]);
      return { result: deleted, change: { list: { tokens: pruned(tokens), last_revoked_at_ms: clock() }, others } };
    };
    while (true) {
      const deleted = await lists.change<TokenEntry[]>(tenant, REVOCATIONS, revokeSome);
      revoked.push(...deleted);
      if (deleted.length < MAX_DELETES) return revoked;
    }
  };

  return {
    /**
     * The issuer must be in the list that the transaction changes, so a token that was revoked before issues none.
     * @throws ServiceError unauthorizedError, forbiddenError, serviceUnavailable; UnconfirmedChangeError if it may be
     * stored: it is listed, and counts until it is revoked or expires
     */
    async issue({ tenant, expiresInSeconds, ...grant }: TokenGrant, audit: Audit): Promise<IssuedToken> {
      const token = newToken();
      const nowMs = clock();
      const entry = {
        ...grant,
        hash: tokenHash(token),
        id: newTokenId(nowMs),
        created_at_ms: nowMs,
        // The item of the token stores whole seconds.
        expires_at_ms: (Math.floor(nowMs / 1000) + expiresInSeconds) * 1000,
      };
      const issued = { ...entry, token };
      return lists.change(tenant, ISSUES, (list) => {
        assertValid(list, grant.issuer);
        if (list.tokens.filter(isValid).length >= MAX_TOKENS) throw tokenLimitReached(MAX_TOKENS);
        const changed = ['label', 'role', 'expires_at'];
        const others = [put(tenant, issued), audit({ action: 'create-token', target_id: entry.id, changed })];
        return { result: issued, change: { list: { tokens: [...pruned(list.tokens), entry] }, others } };
      });
    },

    find,

    /** Oldest first, with those that expired within the last day. */
    async list(tenant: string): Promise<TokenEntry[]> {
      const { tokens } = await lists.read(tenant);
      return tokens.sort((a, b) => (a.id < b.id ? -1 : 1));
    },

    lastRevokedAtMs: async (tenant: string): Promise<number> => (await lists.read(tenant)).last_revoked_at_ms,

    /**
     * Revokes a token, and on request those that tokens issued since a time, even if it is not listed. Functions may
     * accept them until their cache expires (docs/decisions/api.md#tokens-and-roles). A repetition after a failure, and
     * any later revocation, continues: the token with `id` is deleted last, so the repetition finds it, and is
     * authenticated if it is the revoker's own. @throws ServiceError unauthorizedError, notFoundError, badRequest,
     * forbiddenError, serviceUnavailable; UnconfirmedChangeError
     */
    async revoke({ tenant, id, revoker, issuedSinceMs }: RevocationRequest, audit: Audit): Promise<TokenEntry[]> {
      if (issuedSinceMs !== undefined && issuedSinceMs > clock())
        throw badRequest('issued_since: must not be in the future');
      const isIssuedSince = ({ id: each, issuer, created_at_ms }: TokenEntry): boolean =>
        issuedSinceMs !== undefined && issuer !== OPERATOR && each !== revoker && created_at_ms >= issuedSinceMs;
      let isFound = false;
      return revokeSelected(tenant, audit, (list) => {
        // A token that is revoked may repeat its own revocation, which completes it and selects nothing else.
        if (id === revoker && list.tokens.some((entry) => entry.id === id && isRevoked(entry))) {
          isFound = true;
          return [];
        }
        const selected = list.tokens
          .filter((entry) => isUnexpired(entry) && (entry.id === id || isIssuedSince(entry)))
          .sort((a, b) => Number(a.id === id) - Number(b.id === id));
        // Several requests for the same token succeed, whichever is first.
        if (selected.length === 0 && isFound) return [];
        assertValid(list, revoker);
        if (selected.length === 0) throw notFound('The token');
        isFound = true;
        const admins = list.tokens.filter((entry) => entry.role === 'admin' && isValid(entry));
        const isLastAdmin = admins.length > 0 && admins.every((admin) => selected.includes(admin));
        if (isLastAdmin && revoker !== OPERATOR) throw lastAdminToken();
        return selected;
      });
    },

    revokeAll: (tenant: string, audit: Audit): Promise<TokenEntry[]> =>
      revokeSelected(tenant, audit, ({ tokens }) => tokens.filter(isUnexpired)),
  };
};

export type TokenRepository = ReturnType<typeof createTokenRepository>;
