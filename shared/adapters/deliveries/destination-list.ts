import { type DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import type { AlarmEvent } from '../../contracts/alarm-event.ts';
import {
  type DeliveryKey,
  destinationsPartition,
  eventHash,
  hashPart,
  parseDeliveryPartition,
} from '../../domain/delivery-key.ts';
import { RETENTION_SECONDS } from '../../domain/delivery-record.ts';
import { isNotificationId } from '../../domain/notification-id.ts';
import { getItem } from '../dynamodb/items.ts';

/*
 * Of an event with too many to list in each delivery (table Deliveries, docs/decisions/notices.md#nobody-reached): pk
 * `destinations#<hash of the event ID>#<tenant>`, sk `0`. An event has at most 1,024: 30 KB of an item's 400 KB.
 */

const SORT_KEY = '0';

const storedList = z.object({ notification_ids: z.array(z.string()) });

/** Stores the destinations of an event. The list of another plan of the same event replaces the first one. */
export const createDestinationListWriter =
  (client: DynamoDBDocumentClient, table: string) =>
  async (event: Pick<AlarmEvent, 'tenant_id' | 'event_id'>, ids: readonly string[], nowMs: number): Promise<void> => {
    const Item = {
      pk: destinationsPartition(event.tenant_id, eventHash(event)),
      sk: SORT_KEY,
      notification_ids: ids.filter(isNotificationId),
      ttl: Math.floor(nowMs / 1000) + RETENTION_SECONDS,
    };
    await client.send(new PutCommand({ TableName: table, Item }));
  };
export type WriteDestinationList = ReturnType<typeof createDestinationListWriter>;

/** Reads the list by the key of any delivery. @returns undefined if dispatch could not write it, or it has expired */
export const createDestinationListReader =
  (client: DynamoDBDocumentClient, table: string) =>
  async (delivery: DeliveryKey): Promise<string[] | undefined> => {
    const pk = destinationsPartition(parseDeliveryPartition(delivery.pk).tenant, hashPart(delivery));
    const item = await getItem(client, table, { pk, sk: SORT_KEY });
    return item && storedList.parse(item).notification_ids;
  };

export type ReadDestinationList = ReturnType<typeof createDestinationListReader>;
