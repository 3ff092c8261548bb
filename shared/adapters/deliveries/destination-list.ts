import { type DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
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
import { inBatches } from '../../domain/in-batches.ts';
import { isNotificationId } from '../../domain/notification-id.ts';

/*
 * The destinations of an event with too many to list in each delivery, so that a sender whose delivery fails can find
 * the other ones (table Deliveries, docs/decisions/notices.md#nobody-reached):
 *
 *   pk `destinations#<hash of the event ID>#<tenant>`  sk <number of the chunk>
 *
 * An event of 900 KiB lists at most 29,700 notification IDs: three chunks.
 */

/** The maximum number of IDs in a chunk: 290 KB of an item's 400 KB. */
export const MAX_CHUNK_IDS = 10_000;

const storedChunk = z.object({
  notification_ids: z.array(z.string()),
  /** The number of chunks. */
  chunks: z.number(),
});

/** The list of an event's destinations is not stored: dispatch could not write it, or it has expired. */
export class MissingDestinationsError extends Error {
  override readonly name = 'MissingDestinationsError';

  constructor() {
    super('The list of destinations is not stored.');
  }
}

/**
 * Creates the function that stores the destinations of an event. Other IDs than those of notifications are omitted.
 * Repeating it with the same IDs has no effect. The list of another plan of the same event replaces the first one.
 */
export const createDestinationListWriter =
  (client: DynamoDBDocumentClient, table: string) =>
  /** @throws the SDK's error */
  async (event: Pick<AlarmEvent, 'tenant_id' | 'event_id'>, ids: readonly string[], nowMs: number): Promise<void> => {
    const chunks = inBatches(ids.filter(isNotificationId), MAX_CHUNK_IDS);
    // A reader starts with the first chunk, so that one is written last.
    for (const [index, notification_ids] of [...chunks.entries()].reverse()) {
      const Item = {
        pk: destinationsPartition(event.tenant_id, eventHash(event)),
        sk: String(index),
        notification_ids,
        chunks: chunks.length,
        ttl: Math.floor(nowMs / 1000) + RETENTION_SECONDS,
      };
      await client.send(new PutCommand({ TableName: table, Item }));
    }
  };

/** Stores the destinations of an event. */
export type WriteDestinationList = ReturnType<typeof createDestinationListWriter>;

/** Creates the function that reads the destinations of an event, strongly consistent. */
export const createDestinationListReader = (client: DynamoDBDocumentClient, table: string) => {
  const readChunk = async (pk: string, index: number): Promise<z.infer<typeof storedChunk>> => {
    const Key = { pk, sk: String(index) };
    const { Item } = await client.send(new GetCommand({ TableName: table, Key, ConsistentRead: true }));
    if (!Item) throw new MissingDestinationsError();
    return storedChunk.parse(Item);
  };

  /**
   * @param delivery the key of any delivery of the event
   * @throws MissingDestinationsError if the list is not stored, or the SDK's error
   */
  return async (delivery: DeliveryKey): Promise<string[]> => {
    const pk = destinationsPartition(parseDeliveryPartition(delivery.pk).tenant, hashPart(delivery));
    const first = await readChunk(pk, 0);
    const others = Array.from({ length: first.chunks - 1 }, (_, index) => readChunk(pk, index + 1));
    return [first, ...(await Promise.all(others))].flatMap(({ notification_ids }) => notification_ids);
  };
};

/** Reads the destinations of an event. */
export type ReadDestinationList = ReturnType<typeof createDestinationListReader>;
