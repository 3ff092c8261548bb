import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { lru } from 'tiny-lru';
import { createTokenRepository, type TokenRepository } from '../adapters/tokens/token-repository.ts';
import type { Caller } from '../domain/authorization.ts';
import type { Clock } from '../domain/clock.ts';
import { isWellFormedToken, tokenHash } from '../domain/token.ts';

/** Most tokens that a sandbox remembers. */
const CACHE_SIZE = 1_000;

/** Finds the caller that a token stands for; undefined for one that is not valid. */
export type Authenticate = (token: string) => Promise<Caller | undefined>;

/**
 * Authenticates with a memory of at most `cacheSeconds` (60 at most, design 2) for tokens found valid, never for others:
 * a token made a moment ago must work, and a revoked one must stop within that time.
 */
export const cachedAuthentication = (
  repository: Pick<TokenRepository, 'find'>,
  cacheSeconds: number,
  clock: Clock = Date.now,
): Authenticate => {
  const remembered = lru<Caller & { until: number }>(CACHE_SIZE);
  return async (token) => {
    if (!isWellFormedToken(token)) return undefined;
    const key = tokenHash(token);
    const known = remembered.get(key);
    if (known && known.until > clock()) return known;
    const found = await repository.find(token);
    if (!found) {
      remembered.delete(key);
      return undefined;
    }
    const { tenant, role, ttl } = found;
    remembered.set(key, { tenant, role, until: Math.min(clock() + cacheSeconds * 1000, ttl * 1000) });
    return { tenant, role };
  };
};

/** The authentication of a function, from its environment. */
export const tokenAuthentication = (
  client: DynamoDBDocumentClient,
  environment: { TOKENS_TABLE: string; TOKEN_CACHE_SECONDS: number },
): Authenticate =>
  cachedAuthentication(createTokenRepository(client, environment.TOKENS_TABLE), environment.TOKEN_CACHE_SECONDS);
