import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import {
  type DeliveryKey,
  deliveryPartition,
  failedMessagePartition,
  type NotificationOfTenant,
  sortableTime,
} from '../../domain/delivery-key.ts';
import { batchWrite } from '../dynamodb/batches.ts';
import { type Item, queryPages, zlib } from '../dynamodb/items.ts';
import type { ItemKey } from '../dynamodb/read-each.ts';

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

/** Creates the reads and deletes of the bodies of failed deliveries (`failed-messages.ts`). */
export const createFailedMessageList = (client: DynamoDBDocumentClient, table: string) => ({
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

/** Reads and deletes the bodies of failed deliveries. */
export type FailedMessageList = ReturnType<typeof createFailedMessageList>;
