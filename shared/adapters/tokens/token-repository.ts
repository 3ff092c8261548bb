import { type DynamoDBDocumentClient, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { ulid } from 'ulid';
import { MAX_TOKENS } from '../../contracts/token.ts';
import type { Role } from '../../domain/authorization.ts';
import type { Clock } from '../../domain/clock.ts';
import { DAY_MS } from '../../domain/day.ts';
import { tokenLimitReached, unavailable } from '../../domain/errors.ts';
import { newToken, tokenHash } from '../../domain/token.ts';
import { batchGet } from '../dynamodb/batches.ts';
import { unlessConditionFailed } from '../dynamodb/errors.ts';
import { errorTrace, logger } from '../logger.ts';
import { createTokenList, type TokenEntry } from './token-list.ts';
import { createTokenReader } from './token-reader.ts';

/** A token's metadata, without the token itself. Times are in ms since the epoch. */
export type TokenDescription = {
  /** `tk` and a ULID, so IDs sort by creation. */
  id: string;
  hash: string;
  role: string;
  label: string;
  createdAtMs: number;
  expiresAtMs: number;
};

/** A new token with its metadata. The token cannot be read again. */
export type IssuedToken = TokenDescription & { token: string };

/** The result of a revocation. */
export type Revocation = 'revoked' | 'unknown' | 'last_admin';

/**
 * How long the list keeps an entry after its token expired. A day, because a function or an operator whose clock is
 * ahead must not remove the entry of a valid token. With at most 100 unexpired tokens and 100 that expired within the
 * last day, of 1.2 KB each, lists stay below the 400 KB of an item (AWS limit).
 */
const KEPT_AFTER_EXPIRY_MS = DAY_MS;

const describe = ({ id, hash, role, label, created_at_ms, expires_at_ms }: TokenEntry): TokenDescription => ({
  id,
  hash,
  role,
  label,
  createdAtMs: created_at_ms,
  expiresAtMs: expires_at_ms,
});

/**
 * Reads and writes tokens, stored by their SHA-256 hash, and the list of each tenant's tokens (table Tokens). A
 * token is returned only after its entry is stored, and an entry is removed only after its token is expired, so every
 * token that was returned can be listed and revoked, whichever write is lost or repeated
 * (docs/decisions/storage.md#token-list).
 */
export const createTokenRepository = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => {
  const list = createTokenList(client, table);
  const { callerOf, findByHash, find } = createTokenReader(client, table, clock);

  const isUnexpired = ({ expires_at_ms }: TokenEntry): boolean => expires_at_ms > clock();

  /** Returns the entries without those that expired long ago. */
  const pruned = (entries: readonly TokenEntry[]): TokenEntry[] =>
    entries.filter(({ expires_at_ms }) => expires_at_ms + KEPT_AFTER_EXPIRY_MS > clock());

  /**
   * Puts the item of a new token. The condition makes a late copy of the request fail, even after a revocation. If it
   * fails, the first copy was applied, since a hash is never used twice.
   */
  const put = async (
    tenant: string,
    { hash, role, label, created_at_ms, expires_at_ms }: TokenEntry,
  ): Promise<void> => {
    const Item = { pk: hash, tenant, role, label, created_at_ms, ttl: expires_at_ms / 1000 };
    const ConditionExpression = 'attribute_not_exists(pk)';
    await unlessConditionFailed(client.send(new PutCommand({ TableName: table, Item, ConditionExpression })));
  };

  /**
   * Expires the item of a token. Does not delete it, so that a late copy of its put cannot restore it. Does nothing if
   * there is no item.
   */
  const expire = async (hash: string): Promise<void> => {
    const nowMs = clock();
    const request = client.send(
      new UpdateCommand({
        TableName: table,
        Key: { pk: hash },
        UpdateExpression: 'SET #ttl = :now_s, revoked_at_ms = :now_ms',
        ConditionExpression: 'attribute_exists(pk)',
        ExpressionAttributeNames: { '#ttl': 'ttl' },
        ExpressionAttributeValues: { ':now_s': Math.floor(nowMs / 1000), ':now_ms': nowMs },
      }),
    );
    await unlessConditionFailed(request);
  };

  /** Expires a token, then removes its entry. Can be repeated after a failure. */
  const remove = async (tenant: string, hash: string): Promise<void> => {
    await expire(hash);
    // Writes even if there is no entry, so that a late copy of the write that adds it fails its condition.
    await list.update(tenant, (entries) => pruned(entries).filter((entry) => entry.hash !== hash));
  };

  /** Removes a token that could not be issued. Never rejects, since the token was not returned to anyone. */
  const abandon = async (tenant: string, { hash, id }: TokenEntry): Promise<void> =>
    remove(tenant, hash).catch((error: unknown) =>
      logger.warn('token not removed', { tenant_id: tenant, token_id: id, ...errorTrace(error) }),
    );

  /** Adds an entry unless the tenant is at the limit. */
  const addEntry = (tenant: string, entry: TokenEntry): Promise<void> =>
    list.update(tenant, async (entries, attempt) => {
      // The write of an earlier attempt was applied, and then the list changed again.
      if (entries.some(({ hash }) => hash === entry.hash)) return undefined;
      // In that case, another request may also have revoked the token.
      if (attempt > 1 && !(await findByHash(entry.hash))) throw unavailable();
      if (entries.filter(isUnexpired).length >= MAX_TOKENS) throw tokenLimitReached(MAX_TOKENS);
      return [...pruned(entries), entry];
    });

  /**
   * Returns whether a token of role admin remains without this one. An entry counts only if its token is valid: the
   * issue of a token can fail after its entry was written.
   */
  const hasOtherAdmin = async (entries: readonly TokenEntry[], { hash }: TokenEntry): Promise<boolean> => {
    const others = entries.filter(
      (entry) => entry.role === 'admin' && !entry.revoking && entry.hash !== hash && isUnexpired(entry),
    );
    const keys = others.map((other) => ({ pk: other.hash }));
    return (await batchGet(client, table, keys)).some((item) => callerOf(item) !== undefined);
  };

  /**
   * Marks the entry of a token as revoking, so that it no longer counts as an admin. The write is conditional on the
   * entries that the rule was checked for, so of two admins who revoke each other at once only one succeeds.
   *
   * @returns the hash of the token, or why it cannot be revoked
   */
  const markRevoking = async (
    tenant: string,
    id: string,
    canRevokeLastAdmin: boolean,
  ): Promise<{ hash: string } | { refusal: Exclude<Revocation, 'revoked'> }> => {
    let found: TokenEntry | undefined;
    let isLastAdmin = false;
    await list.update(tenant, async (entries) => {
      const entry = entries.find((each) => each.id === id && isUnexpired(each));
      found = entry ?? found;
      if (!entry || entry.revoking) return undefined;
      isLastAdmin = entry.role === 'admin' && !canRevokeLastAdmin && !(await hasOtherAdmin(entries, entry));
      if (isLastAdmin) return undefined;
      return pruned(entries).map((each) => (each === entry ? { ...entry, revoking: true } : each));
    });
    if (!found) return { refusal: 'unknown' };
    return isLastAdmin ? { refusal: 'last_admin' } : { hash: found.hash };
  };

  return {
    /**
     * Creates and stores a token.
     *
     * @throws ServiceError forbiddenError if the tenant is at the limit; serviceUnavailable if every attempt conflicts
     * with another change of the tenant's tokens
     * @throws UnconfirmedChangeError if the token may be stored. It was not returned, and is expired if possible
     */
    async issue(grant: { tenant: string; role: Role; label: string; expiresInSeconds: number }): Promise<IssuedToken> {
      const { tenant, role, label, expiresInSeconds } = grant;
      if ((await list.read(tenant)).filter(isUnexpired).length >= MAX_TOKENS) throw tokenLimitReached(MAX_TOKENS);
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
      await put(tenant, entry);
      try {
        await addEntry(tenant, entry);
      } catch (error) {
        await abandon(tenant, entry);
        throw error;
      }
      return { ...describe(entry), token };
    },

    find,

    /** Returns the tenant's tokens, oldest first. Includes those that expired within the last day. */
    async list(tenant: string): Promise<TokenDescription[]> {
      const tokens = (await list.read(tenant)).map(describe);
      return tokens.sort((a, b) => (a.id < b.id ? -1 : 1));
    },

    /**
     * Revokes a token. Functions may accept it until their cache expires (docs/decisions/api.md#tokens-and-roles). If
     * the call fails, a repeated call completes the revocation.
     *
     * @param options.canRevokeLastAdmin also revokes the tenant's last unexpired token of role admin
     * @throws ServiceError serviceUnavailable if every attempt conflicts with another change of the tenant's tokens
     * @throws UnconfirmedChangeError
     */
    async revoke(
      tenant: string,
      id: string,
      { canRevokeLastAdmin = false }: { canRevokeLastAdmin?: boolean } = {},
    ): Promise<Revocation> {
      const marked = await markRevoking(tenant, id, canRevokeLastAdmin);
      if ('refusal' in marked) return marked.refusal;
      await remove(tenant, marked.hash);
      return 'revoked';
    },
  };
};

/** Reads and writes the table Tokens. */
export type TokenRepository = ReturnType<typeof createTokenRepository>;
