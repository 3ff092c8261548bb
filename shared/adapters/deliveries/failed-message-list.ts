import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { deliveryPartition, failedMessagePartition, sortableTime } from '../../domain/delivery-key.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import { batchWrite } from '../dynamodb/batches.ts';
import { type Item, queryPages, zlib } from '../dynamodb/items.ts';

const QUERY_LIMIT = 100;

const storedMessage = z.object({
  pk: z.string(),
  sk: z.string(),
  record_sk: z.string(),
  round: z.number(),
  /** Size of the body before compression, UTF-8. */
  body_bytes: z.number(),
  content: z.instanceof(Uint8Array),
  ttl: z.number(),
});

/** `$` is the character after `#`: this sorts after the message and before the next one. */
const afterPosition = (position: string): string => `${position}$`;

const toMessage = (partition: NotificationKey, item: Item) => {
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

export type FailedMessage = ReturnType<typeof toMessage>;

export const createFailedMessageList = (client: DynamoDBDocumentClient, table: string) => ({
  /** Yields messages in groups, oldest failure first: from `sinceMs` and after `after` until `untilMs`, exclusive. */
  async *list(
    notification: NotificationKey,
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

  /** @throws UnprocessedItemsError if items stay unprocessed; the SDK's error if a request fails */
  async delete(messages: readonly FailedMessage[]): Promise<void> {
    await batchWrite(
      client,
      table,
      messages.map(({ itemKey: Key }) => ({ DeleteRequest: { Key } })),
    );
  },
});

export type FailedMessageList = ReturnType<typeof createFailedMessageList>;
