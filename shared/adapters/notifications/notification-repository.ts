import type { Clock } from '../../domain/clock.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import type { DynamoDb } from '../dynamodb/dynamodb-client.ts';
import { createNotificationReader } from './notification-reader.ts';
import { readTargets, type TargetReads } from './notification-targets.ts';
import { createNotificationWriter } from './notification-writer.ts';

export type { NotificationKey, TargetReads };

/** Reads and writes notifications (table Notifications). All reads are strongly consistent. */
export const createNotificationRepository = (client: DynamoDb, table: string, clock: Clock = Date.now) => ({
  ...createNotificationReader(client, table),
  ...createNotificationWriter(client, table, clock),

  /** Starts to read the delivery targets of notifications, which may be of several tenants. */
  targets: (keys: readonly NotificationKey[]): TargetReads => readTargets(client, table, keys),
});

/** Reads and writes the table Notifications. */
export type NotificationRepository = ReturnType<typeof createNotificationRepository>;
