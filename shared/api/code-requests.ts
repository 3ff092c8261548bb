import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { createAccountRepository } from '../adapters/accounts/account-repository.ts';
import { createRecipients } from '../adapters/accounts/recipients.ts';
import { createTestCounter } from '../adapters/accounts/test-counter.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import { type CodeResult, codeResult } from '../contracts/messages.ts';
import { inBatches } from '../domain/in-batches.ts';
import type { Recipient } from '../domain/recipient.ts';
import type { ParsedEnvironment } from '../environment.ts';
import { createCountedInvocation, createInvokeClient } from './counted-invocation.ts';

/** Enough for a cold start of the sender and a call of SES or SNS. A code can arrive although this time is over. */
const INVOKE_TIMEOUT_MS = 8_000;

/** Fewer than the tests of a tenant at a time. */
const CODES_AT_A_TIME = 10;

type CodeEnvironment = Pick<
  ParsedEnvironment<'verify-notification'>,
  'ACCOUNTS_TABLE' | 'TENANT_LIMITS' | 'CODE_SENDERS'
>;

/**
 * Creates the requests for codes (docs/decisions/api.md#verified-recipients). The sender of the type creates a code, and
 * sends it: only the recipient learns it.
 *
 * @returns undefined if the setting `verifyRecipients` is off
 */
export const createCodeRequests = (
  client: DynamoDBDocumentClient,
  { ACCOUNTS_TABLE, TENANT_LIMITS, CODE_SENDERS: senders }: CodeEnvironment,
) => {
  if (!senders) return undefined;
  const recipients = createRecipients(client, ACCOUNTS_TABLE);
  const limitOf = createAccountRepository(client, ACCOUNTS_TABLE).currentLimit('testsPerTenantPerDay', TENANT_LIMITS);
  const lambda = createInvokeClient(INVOKE_TIMEOUT_MS);
  const invoke = createCountedInvocation(createTestCounter(client, ACCOUNTS_TABLE), lambda, Date.now);

  const request = async (
    tenant: string,
    { type, address }: Recipient,
    replaces: boolean,
    limit: number,
    record?: () => Promise<void>,
  ): Promise<CodeResult> =>
    codeResult.parse(
      await invoke({
        functionName: senders[type],
        request: { kind: 'code', tenant, address, replaces },
        limit,
        ...(record && { record }),
      }),
    );

  const sendNew = async (tenant: string, wanted: readonly Recipient[], timeLeft: () => number): Promise<void> => {
    const stateOf = await recipients.read(
      tenant,
      wanted.map(({ address }) => address),
    );
    const missing = wanted.filter(({ address }) => stateOf(address) === 'unverified');
    if (missing.length === 0) return;
    const limit = await limitOf(tenant);
    for (const batch of inBatches(missing, CODES_AT_A_TIME)) {
      if (timeLeft() < INVOKE_TIMEOUT_MS + 2_000) throw new Error('No time is left to send codes.');
      const results = await Promise.allSettled(batch.map((recipient) => request(tenant, recipient, false, limit)));
      for (const result of results) if (result.status === 'rejected') logNotSent(tenant, result.reason);
    }
  };

  return {
    recipients,

    /**
     * Sends codes to new recipients that have neither been verified nor got a code that can be entered. Never rejects: the
     * change that they belong to is made, and the client can request a code.
     */
    sendToNew: (tenant: string, wanted: readonly Recipient[], timeLeft: () => number): Promise<void> =>
      sendNew(tenant, wanted, timeLeft).catch((error: unknown) => logNotSent(tenant, error)),

    /**
     * Sends a new code, which replaces an earlier one.
     *
     * @param record writes the audit entry
     * @throws ServiceError 429 or 503 (`createCountedInvocation`)
     */
    resend: async (tenant: string, recipient: Recipient, record: () => Promise<void>): Promise<CodeResult> =>
      request(tenant, recipient, true, await limitOf(tenant), record),
  };
};

const logNotSent = (tenant: string, error: unknown): void =>
  logger.warn('code not sent', { tenant_id: tenant, ...errorTrace(error) });

/** Requests codes for recipients. */
export type CodeRequests = NonNullable<ReturnType<typeof createCodeRequests>>;
