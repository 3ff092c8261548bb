import { randomBytes } from 'node:crypto';
import type { SigningSecrets } from '../contracts/webhook-request.ts';
import { DAY_MS } from './time.ts';

/** How long what a change replaces keeps signing, so that receivers can switch. */
export const RETIREMENT_MS = DAY_MS;

/** `whsec_` and the base64 of 32 random bytes (Standard Webhooks 1.0.0). */
export const newSigningSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/** If a response was lost, nobody can read its secret: the one before must sign beside that of the next request. */
const MAX_RETIRED = 2;

export const noSigningSecrets: SigningSecrets = { retired: [] };

const retiredAt = ({ retired }: SigningSecrets, nowMs: number) => retired.filter(({ until_ms }) => until_ms > nowMs);

const withRetired = (secrets: SigningSecrets, nowMs: number): SigningSecrets['retired'] => {
  const { current } = secrets;
  const replaced = current === undefined ? [] : [{ secret: current, until_ms: nowMs + RETIREMENT_MS }];
  return [...replaced, ...retiredAt(secrets, nowMs)].slice(0, MAX_RETIRED);
};

/** The first secret signs beside the account, the others beside the last. */
export const withNewSecret = (secrets: SigningSecrets, secret: string, nowMs: number): SigningSecrets => ({
  current: secret,
  retired: withRetired(secrets, nowMs),
  account_until_ms: secrets.current === undefined ? nowMs + RETIREMENT_MS : secrets.account_until_ms,
});

/** The deleted secret still signs, beside the account. */
export const withoutSecret = (secrets: SigningSecrets | undefined, nowMs: number): SigningSecrets | undefined =>
  secrets?.current === undefined ? secrets : { retired: withRetired(secrets, nowMs) };

export const signersAt = (secrets: SigningSecrets, nowMs: number): { secrets: string[]; isAccountSigning: boolean } => {
  const { current, account_until_ms: untilMs = 0 } = secrets;
  return {
    secrets: [...(current === undefined ? [] : [current]), ...retiredAt(secrets, nowMs).map(({ secret }) => secret)],
    isAccountSigning: current === undefined || untilMs > nowMs,
  };
};
