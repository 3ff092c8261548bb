import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { createDeliveryReader } from '../../shared/adapters/deliveries/delivery-reader.ts';
import {
  createDeliveryChanges,
  createDeliveryRepository,
} from '../../shared/adapters/deliveries/delivery-repository.ts';
import { batchWrite } from '../../shared/adapters/dynamodb/batches.ts';
import { deliveryKey } from '../../shared/domain/delivery-key.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import type { NotificationKey } from '../../shared/domain/notification.ts';

/** The time of the records, ms since the epoch. */
export const RECORD_TIME_MS = Date.UTC(2026, 0, 1);

/** Returns the record of an event's delivery, with changes: delivered at once by default. */
export const deliveryRecord = (
  { tenant, id: notificationId }: NotificationKey,
  eventId: string,
  changes: Partial<DeliveryRecord> = {},
): DeliveryRecord => ({
  ...deliveryKey({ tenant_id: tenant, event_id: eventId }, notificationId),
  status: 'delivered',
  type: 'webhook',
  event_id: eventId,
  entity_id: 'enWeb',
  alarm_id: 'alDisk',
  state: 'CRITICAL',
  content_hash: 'hash',
  round: 1,
  attempt_count: 1,
  created_at_ms: RECORD_TIME_MS,
  updated_at_ms: RECORD_TIME_MS + 120,
  round_started_at_ms: RECORD_TIME_MS,
  first_attempt_at_ms: RECORD_TIME_MS + 20,
  next_attempt_at_ms: RECORD_TIME_MS,
  lease_until_ms: 0,
  claim_id: 'claim',
  attempts: [{ timestamp_ms: RECORD_TIME_MS + 20, result: 'delivered', status: 200, duration_ms: 100 }],
  reached_recipient_hashes: [],
  ttl: Math.floor(RECORD_TIME_MS / 1000) + 30 * 86_400,
  ...changes,
});

/** Writes records to a table. */
export const writeRecords = (
  client: DynamoDBDocumentClient,
  table: string,
  records: readonly DeliveryRecord[],
): Promise<void> =>
  batchWrite(
    client,
    table,
    records.map((Item) => ({ PutRequest: { Item } })),
  );

/** Reads and writes a table of deliveries, like all functions together. */
export const createDeliveries = (client: DynamoDBDocumentClient, table = 'deliveries') => ({
  ...createDeliveryReader(client, table),
  ...createDeliveryRepository(client, table),
  ...createDeliveryChanges(client, table),
});
