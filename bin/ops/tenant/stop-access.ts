import type { TokenEntry } from '../../../shared/adapters/tokens/token-list.ts';
import type { Session } from '../session.ts';
import type { Timing } from './pace.ts';

/**
 * How long after its revocation a token can still change data: functions cache it for up to 60 s (`tokenCacheSeconds`),
 * and a request takes up to 30 s.
 */
const TOKEN_SETTLES_MS = 90_000;

/** How a command waits and reports. */
export type AccessOptions = {
  timing: Timing;
  /** Called with each step. */
  onProgress: (text: string) => void;
};

/**
 * Revokes all tokens of a tenant, and returns them once no request with any of them can still run. The revoked tokens
 * issue no others.
 */
export const stopAccess = async (
  session: Pick<Session, 'tokens' | 'audit'>,
  tenant: string,
  { timing, onProgress }: AccessOptions,
): Promise<TokenEntry[]> => {
  const revoked = await session.tokens.revokeAll(tenant, await session.audit(tenant));
  // Only the list knows of tokens that an interrupted run revoked, and only this run has this clock.
  const lastMs = revoked.length > 0 ? timing.now() : await session.tokens.lastRevokedAtMs(tenant);
  const waitMs = lastMs + TOKEN_SETTLES_MS - timing.now();
  if (waitMs <= 0) return revoked;
  onProgress(`Revoked the tokens. Waiting ${Math.ceil(waitMs / 1000)} s until no request can use them.`);
  await timing.sleep(waitMs);
  return revoked;
};
