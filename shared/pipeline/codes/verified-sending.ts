import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { createRecipients } from '../../adapters/accounts/recipients.ts';
import type { DailyLimit } from '../daily-limit.ts';
import type { SenderOptions } from '../sender/sender.ts';
import { createUnverifiedRecipients, createUnverifiedRefusal } from '../sender/unverified-recipients.ts';
import { type CodeTransport, createSendCode } from './send-code.ts';

/**
 * Returns what lets a sender refuse recipients that are not verified, and send them codes.
 *
 * @param table that of recipients; undefined if the setting `verifyRecipients` is off: then every recipient counts as
 * verified
 */
export const createVerifiedSending = (
  client: DynamoDBDocumentClient,
  table: string | undefined,
  limit: DailyLimit,
  transport: CodeTransport,
): Pick<SenderOptions, 'refusalOf' | 'sendCode'> => {
  if (table === undefined) return {};
  const recipients = createRecipients(client, table);
  return {
    refusalOf: createUnverifiedRefusal(createUnverifiedRecipients(recipients)),
    sendCode: createSendCode(recipients, limit, transport),
  };
};
