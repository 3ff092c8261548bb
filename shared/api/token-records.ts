import type { TokenEntry } from '../adapters/tokens/token-list.ts';
import type { Page, Slice } from '../contracts/collection.ts';
import type { TokenRecord } from '../contracts/responses/tokens-and-audits.ts';
import { takePage } from './paging.ts';

/** Returns the tokens that have not expired at a time in ms since the epoch. */
export const unexpiredTokens = (tokens: readonly TokenEntry[], nowMs: number): TokenEntry[] =>
  tokens.filter(({ expires_at_ms }) => expires_at_ms > nowMs);

/** Returns a token as tenants see it (docs/api.md#tokens), without the token itself. Times are in ms since the epoch. */
export const tokenRecord = ({ id, label, role, issuer, created_at_ms, expires_at_ms }: TokenEntry): TokenRecord => ({
  id,
  label,
  role,
  issuer,
  created_at: created_at_ms,
  expires_at: expires_at_ms,
});

/**
 * Returns a page of the unexpired tokens, oldest first. IDs sort by creation, so a page starts at the right token even
 * if the token of the marker was revoked (docs/decisions/storage.md#token-list).
 *
 * @param tokens ordered by ID
 */
export const tokenPage = (
  tokens: readonly TokenEntry[],
  { marker, limit }: Page,
  nowMs: number,
): Promise<Slice<TokenRecord>> => {
  const records = unexpiredTokens(tokens, nowMs).map(tokenRecord);
  return takePage(marker === null ? records : records.filter(({ id }) => id >= marker), limit);
};
