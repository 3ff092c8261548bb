import { randomBytes } from 'node:crypto';
import type { SigningSecrets } from '../contracts/signing-secrets.ts';

/** How long what a change replaces keeps signing, so that receivers can switch, ms. */
export const RETIREMENT_MS = 86_400_000;

/** Returns a new signing secret: `whsec_` and the base64 of 32 random bytes (Standard Webhooks 1.0.0). */
export const newSigningSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/**
 * The maximum number of replaced secrets that sign: nobody can read the new secret of a response that was lost, so the
 * one before it must keep signing beside the one of the next request.
 */
const MAX_RETIRED = 2;

/** A webhook without a secret of its own. */
export const noSigningSecrets: SigningSecrets = { retired: [] };

const retiredAt = ({ retired }: SigningSecrets, nowMs: number) => retired.filter(({ until_ms }) => until_ms > nowMs);

/** Returns the replaced secrets after the current one, if there is one, is replaced. */
const withRetired = (secrets: SigningSecrets, nowMs: number): SigningSecrets['retired'] => {
  const { current } = secrets;
  const replaced = current === undefined ? [] : [{ secret: current, until_ms: nowMs + RETIREMENT_MS }];
  return [...replaced, ...retiredAt(secrets, nowMs)].slice(0, MAX_RETIRED);
};

/** Returns the secrets after a new one is created: the first one signs beside the account, the others beside the last. */
export const withNewSecret = (secrets: SigningSecrets, secret: string, nowMs: number): SigningSecrets => ({
  current: secret,
  retired: withRetired(secrets, nowMs),
  account_until_ms: secrets.current === undefined ? nowMs + RETIREMENT_MS : secrets.account_until_ms,
});

/** Returns the secrets after the current one is deleted: it still signs, beside the account. */
export const withoutSecret = (secrets: SigningSecrets | undefined, nowMs: number): SigningSecrets | undefined =>
  secrets?.current === undefined ? secrets : { retired: withRetired(secrets, nowMs) };

/** Returns which own secrets sign, the current one first, and whether the account does. */
export const signersAt = (secrets: SigningSecrets, nowMs: number): { secrets: string[]; isAccountSigning: boolean } => {
  const { current, account_until_ms: untilMs = 0 } = secrets;
  return {
    secrets: [...(current === undefined ? [] : [current]), ...retiredAt(secrets, nowMs).map(({ secret }) => secret)],
    isAccountSigning: current === undefined || untilMs > nowMs,
  };
};
