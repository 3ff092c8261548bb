import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { createRecipients } from '../../adapters/accounts/recipients.ts';
import type { DailyLimit } from '../daily-limit.ts';
import type { SendCode } from '../sender/sender.ts';
import type { RefusalOf } from '../sender/sender-dependencies.ts';
import { createUnverifiedRecipients, createUnverifiedRefusal } from '../sender/unverified-recipients.ts';
import { type CodeTransport, createSendCode } from './send-code.ts';

/** Lets a sender refuse recipients that are not verified, and send them codes. Empty without verification. */
export type VerifiedSending = { isUnverified?: RefusalOf; sendCode?: SendCode };

/**
 * Returns what lets a sender refuse recipients that are not verified, and send them codes.
 *
 * @param table that of recipients; undefined if the setting `verifyRecipients` is off: then every recipient counts as
 * verified
 * @param refusalOf says who gets no code either
 */
export const createVerifiedSending = (
  client: DynamoDBDocumentClient,
  table: string | undefined,
  limit: DailyLimit,
  transport: CodeTransport,
  refusalOf?: RefusalOf,
): VerifiedSending => {
  if (table === undefined) return {};
  const recipients = createRecipients(client, table);
  return {
    isUnverified: createUnverifiedRefusal(createUnverifiedRecipients(recipients)),
    sendCode: createSendCode(recipients, limit, transport, refusalOf),
  };
};
