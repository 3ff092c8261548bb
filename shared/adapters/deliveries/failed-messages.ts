import { type DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
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
import { batchWrite, type ItemKey } from '../dynamodb/batches.ts';
import { type Item, queryPages, zlib } from '../dynamodb/items.ts';

/*
 * The bodies of failed deliveries, so that tenants can redeliver them (table Deliveries,
 * docs/decisions/deliveries.md#failed-messages):
 *
 *   pk `failed#<notification>#<tenant>`  sk <failure time>#<hash of the record's sort key>
 *
 * Items sort by the time of failure. A body has at most 273 KiB of an item's 400 KB: an envelope and an event.
 */

/** The retention period of the bodies, the same as that of dead letters. */
export const FAILED_MESSAGE_RETENTION_SECONDS = 14 * 86_400;

/** The maximum number of items that a query reads. */
const QUERY_LIMIT = 100;

const storedMessage = z.object({
  pk: z.string(),
  sk: z.string(),
  /** Sort key of the delivery record. */
  record_sk: z.string(),
  /** The round in the body. */
  round: z.number(),
  /** Size of the body before compression, UTF-8. */
  body_bytes: z.number(),
  content: z.instanceof(Uint8Array),
  ttl: z.number(),
});

/** The stored body of a failed delivery. */
export type FailedMessage = {
  /** The place in the order of failures: the sort key. */
  position: string;
  /** When the delivery failed, ms since the epoch. */
  failedAtMs: number;
  recordKey: DeliveryKey;
  round: number;
  /** Size of the body, UTF-8. */
  bodyBytes: number;
  /** When DynamoDB deletes the message, epoch seconds. */
  ttl: number;
  itemKey: ItemKey;
  /** Decompresses the body. */
  body: () => string;
};

/** Returns the position of a message in the order of failures. */
export const failurePosition = (failedAtMs: number, recordKey: Pick<DeliveryKey, 'sk'>): string =>
  `${sortableTime(failedAtMs)}#${hashPart(recordKey)}`;

/** `$` is the character after `#`: this sorts after the message and before the next one. */
const afterPosition = (position: string): string => `${position}$`;

const toMessage = (partition: NotificationOfTenant, item: Item): FailedMessage => {
  const { pk, sk, record_sk, round, body_bytes, content, ttl } = storedMessage.parse(item);
  return {
    position: sk,
    failedAtMs: Number(sk.slice(0, sk.indexOf('#'))),
    recordKey: { pk: deliveryPartition(partition), sk: record_sk },
    round,
    bodyBytes: body_bytes,
    ttl,
    itemKey: { pk, sk },
    body: () => zlib().gunzipSync(content).toString('utf8'),
  };
};

/** Creates the reads and writes of the bodies of failed deliveries (table Deliveries). */
export const createFailedMessages = (client: DynamoDBDocumentClient, table: string) => ({
  /**
   * Stores the body of the dead letter of a failed delivery, for the next round. Safe to apply twice. A copy that
   * arrives after the delete is ignored, because the record then has another round or time of failure.
   *
   * @throws the SDK's error
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
    const Item = {
      pk: failedMessagePartition(parseDeliveryPartition(recordKey.pk)),
      sk: failurePosition(failedAtMs, recordKey),
      record_sk: recordKey.sk,
      round,
      body_bytes: Buffer.byteLength(body),
      content: zlib().gzipSync(body),
      ttl: Math.floor(failedAtMs / 1000) + FAILED_MESSAGE_RETENTION_SECONDS,
    };
    await client.send(new PutCommand({ TableName: table, Item }));
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
    const pages = queryPages(client, {
      TableName: table,
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
      ExpressionAttributeValues: { ':pk': failedMessagePartition(notification), ':from': from, ':to': to },
      ConsistentRead: true,
      Limit: QUERY_LIMIT,
    });
    for await (const items of pages) yield items.map((item) => toMessage(notification, item));
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
      messages.map(({ itemKey: Key }) => ({ DeleteRequest: { Key } })),
    );
  },
});

/** Reads and writes the bodies of failed deliveries. */
export type FailedMessages = ReturnType<typeof createFailedMessages>;
