import { lru } from 'tiny-lru';
import type { TokenReader } from '../adapters/tokens/token-reader.ts';
import type { Caller } from '../domain/authorization.ts';
import type { Clock } from '../domain/clock.ts';
import { isWellFormedToken, tokenHash } from '../domain/token.ts';

/** The maximum number of tokens that an execution environment caches. */
const CACHE_SIZE = 1_000;

/** Returns the caller of a token, or undefined if the token is not valid. */
export type Authenticate = (token: string) => Promise<Caller | undefined>;

/**
 * Caches valid tokens for `cacheSeconds`, so that a revoked token stops working within that time. Invalid tokens are
 * not cached, so that a new token works at once (docs/decisions/api.md#tokens-and-roles).
 */
export const cachedAuthentication = (
  repository: Pick<TokenReader, 'find'>,
  cacheSeconds: number,
  clock: Clock = Date.now,
): Authenticate => {
  const cache = lru<Caller & { untilMs: number }>(CACHE_SIZE);
  return async (token) => {
    if (!isWellFormedToken(token)) return undefined;
    const key = tokenHash(token);
    const cached = cache.get(key);
    if (cached && cached.untilMs > clock()) return cached;
    const found = await repository.find(token);
    if (!found) {
      cache.delete(key);
      return undefined;
    }
    const { ttl, ...caller } = found;
    cache.set(key, { ...caller, untilMs: Math.min(clock() + cacheSeconds * 1000, ttl * 1000) });
    return caller;
  };
};
