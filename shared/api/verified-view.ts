import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { createRecipients } from '../adapters/accounts/recipients.ts';
import type { ListedNotification } from '../adapters/notifications/notification-reader.ts';
import type { NotificationRecord } from '../contracts/notification.ts';
import { recipientOf } from '../domain/recipient.ts';

/** Returns the address of a notification that needs verification. */
const addressToVerify = (notification: ListedNotification): string[] => {
  const recipient = notification.needs_verification && recipientOf(notification);
  return recipient ? [recipient.address] : [];
};

/**
 * Creates the function that shows whether the recipients of a tenant's notifications are verified.
 *
 * @param table undefined if the setting `verifyRecipients` is off: then nothing shows it
 */
export const createVerifiedView = (client: DynamoDBDocumentClient, table: string | undefined) => {
  const recipients = table === undefined ? undefined : createRecipients(client, table);

  return async (tenant: string, notifications: readonly ListedNotification[]): Promise<NotificationRecord[]> => {
    const addresses = recipients ? notifications.flatMap(addressToVerify) : [];
    const stateOf = recipients && addresses.length > 0 ? await recipients.read(tenant, addresses) : undefined;
    return notifications.map(({ needs_verification, ...record }) => {
      if (!recipients || !recipientOf(record)) return record;
      const [address] = addressToVerify({ ...record, needs_verification });
      return { ...record, verified: address === undefined || stateOf?.(address) === 'verified' };
    });
  };
};

/** Shows whether recipients are verified. */
export type VerifiedView = ReturnType<typeof createVerifiedView>;
