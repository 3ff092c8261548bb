import type { TransactItem } from '../adapters/dynamodb/transactions.ts';
import type { Verification } from '../contracts/verification.ts';
import type { Clock } from '../domain/clock.ts';
import {
  codeLimitReached,
  codeRejected,
  noValidCode,
  unavailable,
  verificationOff,
  wrongCode,
} from '../domain/errors.ts';
import { MAX_CODES_PER_DAY, type Recipient } from '../domain/recipient.ts';
import type { CodeRequests } from './code-requests.ts';

/** Whether a recipient is verified, as the response says it. */
type Verified = { verified: boolean };

/** Writes the audit entry of a verification: in its transaction, or before the request for a code. */
type VerificationAudit = { entry: () => TransactItem; record: () => Promise<void> };

/** Rejects requests if the setting `verifyRecipients` is off. @throws ServiceError 404 */
export const whenVerifying = (codes: CodeRequests | undefined): CodeRequests => {
  if (!codes) throw verificationOff();
  return codes;
};

/**
 * Creates the verification of a recipient by the code that it has got. A verified one stays verified, whatever the code.
 *
 * @throws ServiceError 400 for a wrong or used-up code, and if no code can be sent; 429; 503
 */
export const createVerification =
  ({ recipients, resend }: Pick<CodeRequests, 'recipients' | 'resend'>, clock: Clock = Date.now) =>
  async (
    tenant: string,
    recipient: Recipient,
    { code }: Verification,
    { entry, record }: VerificationAudit,
  ): Promise<Verified> => {
    if (await recipients.isVerified(tenant, recipient.address)) return { verified: true };
    if (code !== undefined) {
      const tried = await recipients.tryCode(tenant, recipient.address, code, entry());
      if (tried.kind === 'wrong') throw wrongCode(tried.triesLeft);
      if (tried.kind === 'no_code') throw noValidCode();
      return { verified: true };
    }
    const result = await resend(tenant, recipient, record);
    if (result.kind === 'limit') throw codeLimitReached(MAX_CODES_PER_DAY, clock());
    if (result.kind === 'failed') throw result.isPermanent ? codeRejected(result.message) : unavailable();
    return { verified: result.kind === 'not_needed' };
  };
