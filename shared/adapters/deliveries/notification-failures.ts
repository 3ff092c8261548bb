import { type DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { knownReason } from '../../contracts/delivery-record.ts';
import type { FailureReason } from '../../contracts/outcomes.ts';
import { deliveryPartition, failuresPartition } from '../../domain/delivery-key.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import type { Clock } from '../../domain/time.ts';
import { createConditionalUpdate } from '../dynamodb/conditional-writes.ts';
import { type Item, queryPages, sortKeyOf } from '../dynamodb/items.ts';
import { CONFLICT_PREFIX } from './stored-record.ts';

/*
 * What failed of each notification (table Deliveries, docs/decisions/deliveries.md#failing-notifications): pk
 * `failures##<tenant>`, sk <notification>.
 */

/** How long a notification is listed after its last failure. */
const RETENTION_SECONDS = 14 * 86_400;

/** The number of newest deliveries, except summarized ones, among which the last success is looked for. */
const NEWEST_DELIVERIES = 20;

/** How many records are read for them, newest first: about 1 KB each. A storm may summarize more. */
const MAX_READ_DELIVERIES = 200;

/** The number of failures, of the newest, that the item lists: a repetition of others would count again. */
const MAX_LISTED_FAILURES = 200;

const storedFailures = z.object({
  sk: z.string(),
  /** The number of failures that `failed_ids` does not list. */
  failed_count: z.number(),
  failed_ids: z._default(z.set(z.string()), new Set()),
  first_failed_at_ms: z.number(),
  last_failed_at_ms: z.number(),
  last_reason: knownReason,
});

const newestRecord = z.object({ status: z.string(), updated_at_ms: z.number() });

/** Failures to add to those of a notification. Times are ms since the epoch. */
export type AddedFailures = {
  firstFailedAtMs: number;
  lastFailedAtMs: number;
  lastReason: FailureReason;
  /** Identifies them, so that a repetition is not counted again. They sort by time. */
  failedIds: readonly string[];
};

export const parseFailures = (item: Item) => {
  const { sk, failed_count, failed_ids, first_failed_at_ms, last_failed_at_ms, last_reason } =
    storedFailures.parse(item);
  return {
    notificationId: sk,
    failedCount: failed_count + failed_ids.size,
    firstFailedAtMs: first_failed_at_ms,
    lastFailedAtMs: last_failed_at_ms,
    lastReason: last_reason,
  };
};

export type NotificationFailures = ReturnType<typeof parseFailures>;

/** Adds failures to those of a notification. The item lists the newest, so applying a write twice has no effect. */
export const createFailureWriter = (client: DynamoDBDocumentClient, table: string) => {
  const update = createConditionalUpdate(client, table);
  type Key = { pk: string; sk: string };

  const countOldest = async (key: Key, item: Item): Promise<void> => {
    const { failed_ids, failed_count } = storedFailures.parse(item);
    if (failed_ids.size <= MAX_LISTED_FAILURES) return;
    const oldest = [...failed_ids].sort().slice(0, -MAX_LISTED_FAILURES / 2);
    await update(key, {
      UpdateExpression: 'SET failed_count = :count DELETE failed_ids :ids',
      ConditionExpression: 'failed_count = :before',
      ExpressionAttributeValues: {
        ':count': failed_count + oldest.length,
        ':before': failed_count,
        ':ids': new Set(oldest),
      },
    });
  };

  return async (
    { tenant, id: notificationId }: NotificationKey,
    { failedIds, firstFailedAtMs, lastFailedAtMs, lastReason }: AddedFailures,
  ): Promise<void> => {
    const key = { pk: failuresPartition(tenant), sk: notificationId };
    const ids = failedIds.length > 0 && { ':ids': new Set(failedIds) };
    const add = ids ? ' ADD failed_ids :ids' : '';
    const newest = await update(key, {
      UpdateExpression: `SET first_failed_at_ms = if_not_exists(first_failed_at_ms, :first), last_failed_at_ms = :last, last_reason = :reason, failed_count = if_not_exists(failed_count, :none), #ttl = :ttl${add}`,
      ConditionExpression: 'attribute_not_exists(pk) OR last_failed_at_ms <= :last',
      ExpressionAttributeNames: { '#ttl': 'ttl' },
      ExpressionAttributeValues: {
        ':first': firstFailedAtMs,
        ':last': lastFailedAtMs,
        ':reason': lastReason,
        ':none': 0,
        ':ttl': Math.floor(lastFailedAtMs / 1000) + RETENTION_SECONDS,
        ...ids,
      },
    });
    const { item } =
      newest.isWritten || !ids
        ? newest
        : await update(key, {
            UpdateExpression: add.trim(),
            ConditionExpression: 'attribute_exists(pk)',
            ExpressionAttributeValues: ids,
          });
    if (item) await countOldest(key, item);
  };
};

export const createFailureReader = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => ({
  /** Yields the failures of the last 14 days in groups, by ID from `start` on, strongly consistent. Reads lazily. */
  async *list(tenant: string, start: string | null, groupSize: number): AsyncGenerator<NotificationFailures[]> {
    const from = sortKeyOf(start);
    const pages = queryPages(client, {
      TableName: table,
      KeyConditionExpression: from ? 'pk = :pk AND sk >= :from' : 'pk = :pk',
      // TTL deletes items late.
      FilterExpression: '#ttl > :now',
      ExpressionAttributeNames: { '#ttl': 'ttl' },
      ExpressionAttributeValues: {
        ':pk': failuresPartition(tenant),
        ':now': clock() / 1000,
        ...(from && { ':from': from }),
      },
      ConsistentRead: true,
      Limit: groupSize,
    });
    for await (const items of pages) yield items.map(parseFailures);
  },

  /** When an alert was last delivered, as far as the newest ones show it. Eventually consistent, which costs half. */
  async lastDeliveredAtMs(notification: NotificationKey, sinceMs: number): Promise<number | undefined> {
    const { Items = [] } = await client.send(
      new QueryCommand({
        TableName: table,
        KeyConditionExpression: 'pk = :pk AND sk < :conflicts',
        FilterExpression: '#status <> :summarized',
        ProjectionExpression: '#status, updated_at_ms',
        ExpressionAttributeNames: { '#status': 'status' },
        ExpressionAttributeValues: {
          ':pk': deliveryPartition(notification),
          ':conflicts': CONFLICT_PREFIX,
          ':summarized': 'summarized',
        },
        ScanIndexForward: false,
        Limit: MAX_READ_DELIVERIES,
      }),
    );
    const times = Items.slice(0, NEWEST_DELIVERIES)
      .map((item) => newestRecord.parse(item))
      .filter(({ status, updated_at_ms }) => status === 'delivered' && updated_at_ms > sinceMs)
      .map(({ updated_at_ms }) => updated_at_ms);
    return times.length > 0 ? Math.max(...times) : undefined;
  },
});

export type FailureReader = ReturnType<typeof createFailureReader>;
