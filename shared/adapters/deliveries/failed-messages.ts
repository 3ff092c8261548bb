import { type DynamoDBDocumentClient, PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import {
  type DeliveryKey,
  deliveryPartition,
  failedMessagePartition,
  hashPart,
  type NotificationOfTenant,
  parseDeliveryPartition,
  sortableTime,
} from '../../domain/delivery-key.ts';
import { splitBytes } from '../../domain/in-batches.ts';
import { batchWrite, type ItemKey } from '../dynamodb/batches.ts';
import type { Item } from '../dynamodb/items.ts';
import { zlib } from '../zlib.ts';

/*
 * The bodies of failed deliveries, so that tenants can redeliver them (table Deliveries,
 * docs/decisions/deliveries.md#failed-messages):
 *
 *   pk `failed#<notification>#<tenant>`  sk <failure time>#<hash of the record's sort key>#<chunk>
 *
 * Items sort by the time of failure. Every chunk has the attributes of the message, so that one query reads all.
 */

/** The maximum size of the content in a chunk. The rest of the 400 KB item is for the key and the other attributes. */
export const CHUNK_BYTES = 380 * 1024;

/** The retention period of the bodies, the same as that of dead letters. */
export const FAILED_MESSAGE_RETENTION_SECONDS = 14 * 86_400;

/** The maximum number of items that a query reads. More than one page of large chunks exceeds 1 MB (AWS limit). */
const QUERY_LIMIT = 100;

const storedChunk = z.object({
  pk: z.string(),
  sk: z.string(),
  /** Sort key of the delivery record. */
  record_sk: z.string(),
  /** The round in the body. */
  round: z.number(),
  chunks: z.number(),
  /** Size of the body before compression, UTF-8. */
  body_bytes: z.number(),
  content: z.instanceof(Uint8Array),
  ttl: z.number(),
});
type StoredChunk = z.infer<typeof storedChunk>;

/** The stored body of a failed delivery. */
export type FailedMessage = {
  /** The place in the order of failures: the sort key without the number of the chunk. */
  position: string;
  /** When the delivery failed, ms since the epoch. */
  failedAtMs: number;
  recordKey: DeliveryKey;
  round: number;
  /** Size of the body, UTF-8. */
  bodyBytes: number;
  /** When DynamoDB deletes the message, epoch seconds. */
  ttl: number;
  /** False if chunks are missing, because they were not all written or not all deleted. */
  isComplete: boolean;
  itemKeys: ItemKey[];
  /** Decompresses the body. @throws Error if the message is incomplete */
  body: () => string;
};

/** Returns the position of a message in the order of failures. */
export const failurePosition = (failedAtMs: number, recordKey: Pick<DeliveryKey, 'sk'>): string =>
  `${sortableTime(failedAtMs)}#${hashPart(recordKey)}`;

/** `$` is the character after `#`: this sorts after all chunks of a message and before the next message. */
const afterPosition = (position: string): string => `${position}$`;

const positionOf = ({ sk }: Pick<ItemKey, 'sk'>): string => sk.slice(0, sk.lastIndexOf('#'));

const toMessage = (
  partition: NotificationOfTenant,
  [first, ...rest]: [StoredChunk, ...StoredChunk[]],
): FailedMessage => {
  const chunks = [first, ...rest];
  const isComplete = chunks.length === first.chunks;
  return {
    position: positionOf(first),
    failedAtMs: Number(first.sk.slice(0, first.sk.indexOf('#'))),
    recordKey: { pk: deliveryPartition(partition), sk: first.record_sk },
    round: first.round,
    bodyBytes: first.body_bytes,
    ttl: first.ttl,
    isComplete,
    itemKeys: chunks.map(({ pk, sk }) => ({ pk, sk })),
    body() {
      if (!isComplete) throw new Error('The failed message is incomplete.');
      return zlib()
        .gunzipSync(Buffer.concat(chunks.map(({ content }) => content)))
        .toString('utf8');
    },
  };
};

const toMessages = (partition: NotificationOfTenant, chunks: readonly StoredChunk[]): FailedMessage[] =>
  [...Map.groupBy(chunks, positionOf).values()].flatMap(([first, ...rest]) =>
    first ? [toMessage(partition, [first, ...rest])] : [],
  );

/** Creates the reads and writes of the bodies of failed deliveries (table Deliveries). */
export const createFailedMessages = (client: DynamoDBDocumentClient, table: string) => ({
  /**
   * Stores the body of the dead letter of a failed delivery, for the next round. Safe to apply twice. A copy that arrives after the delete is ignored, because
   * the record then has another round or time of failure. Chunks are written one by one, since the error of a batch
   * does not state whether only the tenant's partition is throttled.
   *
   * @throws the SDK's error if a request fails; some chunks may have been written
   */
  async put({
    recordKey,
    failedAtMs,
    body,
    round,
  }: {
    recordKey: DeliveryKey;
    failedAtMs: number;
    body: string;
    round: number;
  }): Promise<void> {
    const contents = splitBytes(zlib().gzipSync(body), CHUNK_BYTES);
    for (const [index, content] of contents.entries()) {
      const Item = {
        pk: failedMessagePartition(parseDeliveryPartition(recordKey.pk)),
        sk: `${failurePosition(failedAtMs, recordKey)}#${index}`,
        record_sk: recordKey.sk,
        round,
        chunks: contents.length,
        body_bytes: Buffer.byteLength(body),
        content,
        ttl: Math.floor(failedAtMs / 1000) + FAILED_MESSAGE_RETENTION_SECONDS,
      };
      await client.send(new PutCommand({ TableName: table, Item }));
    }
  },

  /**
   * Yields the messages of a notification in groups, oldest failure first, strongly consistent. Reads lazily.
   *
   * @param sinceMs time of failure from which on messages are read, inclusive
   * @param after position after which they are read, or null
   * @param untilMs time of failure up to which they are read, exclusive
   */
  async *list(
    notification: NotificationOfTenant,
    { sinceMs, after, untilMs }: { sinceMs: number; after: string | null; untilMs: number },
  ): AsyncGenerator<FailedMessage[]> {
    const since = sortableTime(sinceMs);
    const from = after === null || afterPosition(after) < since ? since : afterPosition(after);
    const to = sortableTime(untilMs);
    // DynamoDB rejects an empty range.
    if (from > to) return;
    let chunks: StoredChunk[] = [];
    let next: Item | undefined;
    do {
      const page = await client.send(
        new QueryCommand({
          TableName: table,
          KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
          ExpressionAttributeValues: { ':pk': failedMessagePartition(notification), ':from': from, ':to': to },
          ConsistentRead: true,
          Limit: QUERY_LIMIT,
          ExclusiveStartKey: next,
        }),
      );
      next = page.LastEvaluatedKey;
      chunks.push(...(page.Items ?? []).map((item) => storedChunk.parse(item)));
      // The last message of a page may have more chunks on the next one.
      const last = next && chunks.at(-1);
      const isRead = (chunk: StoredChunk) => !last || positionOf(chunk) !== positionOf(last);
      yield toMessages(notification, chunks.filter(isRead));
      chunks = chunks.filter((chunk) => !isRead(chunk));
    } while (next);
  },

  /**
   * Deletes messages.
   *
   * @throws UnprocessedItemsError if items stay unprocessed; the SDK's error if a request fails
   */
  async delete(messages: readonly FailedMessage[]): Promise<void> {
    await batchWrite(
      client,
      table,
      messages.flatMap(({ itemKeys }) => itemKeys.map((Key) => ({ DeleteRequest: { Key } }))),
    );
  },
});

/** Reads and writes the bodies of failed deliveries. */
export type FailedMessages = ReturnType<typeof createFailedMessages>;
