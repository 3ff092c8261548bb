import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Clock } from '../../domain/clock.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import { createNotificationReader, type VersionedNotification } from './notification-reader.ts';
import { createTargetReader, type TargetReads } from './notification-targets.ts';
import { createNotificationWriter } from './notification-writer.ts';

export type { NotificationKey, TargetReads, VersionedNotification };

/** What only reads uses `createNotificationReader` or `createTargetReader`: its bundle then has no writes. */
export const createNotificationRepository = (
  client: DynamoDBDocumentClient,
  table: string,
  clock: Clock = Date.now,
) => ({
  ...createNotificationReader(client, table, clock),
  ...createTargetReader(client, table),
  ...createNotificationWriter(client, table, clock),
});

export type NotificationRepository = ReturnType<typeof createNotificationRepository>;
