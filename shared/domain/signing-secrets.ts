import { randomBytes } from 'node:crypto';
import type { SigningSecrets } from '../contracts/signing-secrets.ts';

/** How long what a change replaces keeps signing, so that receivers can switch, ms. */
export const RETIREMENT_MS = 86_400_000;

/** Returns a new signing secret: `whsec_` and the base64 of 32 random bytes (Standard Webhooks 1.0.0). */
export const newSigningSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/** Returns the secrets after a new one is created: the first one signs beside the account, the others beside the last. */
export const withNewSecret = (
  { current, retired, account_until_ms }: SigningSecrets,
  secret: string,
  nowMs: number,
): SigningSecrets =>
  current === undefined
    ? { current: secret, retired, account_until_ms: nowMs + RETIREMENT_MS }
    : { current: secret, retired: { secret: current, until_ms: nowMs + RETIREMENT_MS }, account_until_ms };

/** Returns the secrets after the current one is deleted: it still signs, beside the account. */
export const withoutSecret = (secrets: SigningSecrets | undefined, nowMs: number): SigningSecrets | undefined =>
  secrets?.current === undefined ? secrets : { retired: { secret: secrets.current, until_ms: nowMs + RETIREMENT_MS } };

/** Returns which own secrets sign, the current one first, and whether the account does. */
export const signersAt = (
  { current, retired, account_until_ms: untilMs = 0 }: SigningSecrets,
  nowMs: number,
): { secrets: string[]; isAccountSigning: boolean } => ({
  secrets: [
    ...(current === undefined ? [] : [current]),
    ...(retired && retired.until_ms > nowMs ? [retired.secret] : []),
  ],
  isAccountSigning: current === undefined || untilMs > nowMs,
});
