import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Clock } from '../../domain/clock.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import { createNotificationReader } from './notification-reader.ts';
import { readTargets, type TargetReads } from './notification-targets.ts';
import { createNotificationWriter } from './notification-writer.ts';

export type { NotificationKey, TargetReads };

/** Notifications of all tenants (table Notifications). All reads are strongly consistent. */
export const createNotificationRepository = (
  client: DynamoDBDocumentClient,
  table: string,
  clock: Clock = Date.now,
) => ({
  ...createNotificationReader(client, table),
  ...createNotificationWriter(client, table, clock),

  /** Starts to read what delivering needs of many notifications, each under its own tenant. */
  targets: (keys: readonly NotificationKey[]): TargetReads => readTargets(client, table, keys),
});

/** Where notifications are kept. */
export type NotificationRepository = ReturnType<typeof createNotificationRepository>;
