import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Clock } from '../../domain/clock.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import { createNotificationReader, type VersionedNotification } from './notification-reader.ts';
import { createTargetReader, type TargetReads } from './notification-targets.ts';
import { createNotificationWriter } from './notification-writer.ts';

export type { NotificationKey, TargetReads, VersionedNotification };

/**
 * Reads and writes notifications (table Notifications). All reads are strongly consistent unless a caller opts out.
 * What only reads uses `createNotificationReader` or `createTargetReader`, so that its bundle does not contain the
 * writes.
 */
export const createNotificationRepository = (
  client: DynamoDBDocumentClient,
  table: string,
  clock: Clock = Date.now,
) => ({
  ...createNotificationReader(client, table, clock),
  ...createTargetReader(client, table),
  ...createNotificationWriter(client, table, clock),
});

/** Reads and writes the table Notifications. */
export type NotificationRepository = ReturnType<typeof createNotificationRepository>;
