import {
  BatchWriteCommand,
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
} from '@aws-sdk/lib-dynamodb';
import { encodeTime, ulid } from 'ulid';
import * as z from 'zod/mini';
import type { Clock } from '../../domain/clock.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import type { Item, ItemKey } from '../dynamodb/batches.ts';
import { UnprocessedItemsError } from '../dynamodb/errors.ts';
import { errorTrace, logger } from '../logger.ts';
import { count } from '../metrics.ts';
import { chunkKeys, isTombstone, targetKey, type Version } from './notification-items.ts';

/** How old a cleanup item must be: no writer, and no delayed duplicate of its requests, is at work after that. */
const MIN_AGE_MS = 3_600_000;
/** Cleanup items that one write works on at the same time. */
const ITEMS_AT_ONCE = 10;
/** How often one write reads that many items: again where some of them had to be skipped. */
const MAX_READS = 10;
/** How long a cleanup may take beside the write that it belongs to, in ms. */
const TIMEOUT_MS = 1_000;

const cleanupPartition = (tenant: string): string => `cleanup#${tenant}`;

const cleanupItem = z.object({
  pk: z.string(),
  sk: z.string(),
  notification_id: z.string(),
  // Chunks of a version are deleted in one BatchWriteItem, which takes 25 (AWS limit).
  versions: z.array(z.object({ version: z.string(), chunks: z.int().check(z.minimum(0), z.maximum(25)) })),
});

/** Rejects when the signal aborts, whether or not a request that has it is between two of its attempts. */
const rejectionOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

/**
 * Finds chunks that no target points to. A writer that creates chunks, or makes some obsolete, first writes a cleanup item
 * that names their versions; where it fails on the way, a later write of the tenant deletes what the item names.
 */
export const createChunkCleanup = (client: DynamoDBDocumentClient, table: string, clock: Clock) => {
  const deleteItem = (key: ItemKey, abortSignal?: AbortSignal) =>
    client.send(new DeleteCommand({ TableName: table, Key: key }), { ...(abortSignal && { abortSignal }) });

  /** @returns the version that the target points to; undefined for one whose version is unknown */
  const currentVersion = async (
    key: NotificationKey,
    abortSignal: AbortSignal,
  ): Promise<{ version: string | null } | undefined> => {
    const { Item } = await client.send(
      new GetCommand({
        TableName: table,
        Key: targetKey(key),
        ProjectionExpression: 'version, deleted_at_ms',
        ConsistentRead: true,
      }),
      { abortSignal },
    );
    if (!Item || isTombstone(Item)) return { version: null };
    return typeof Item.version === 'string' ? { version: Item.version } : undefined;
  };

  /** @throws UnprocessedItemsError where DynamoDB left a delete unprocessed: the next cleanup repeats it */
  const deleteChunks = async (
    key: NotificationKey,
    versions: readonly Version[],
    abortSignal: AbortSignal,
  ): Promise<void> => {
    for (const version of versions) {
      const requests = chunkKeys(key, version).map((Key) => ({ DeleteRequest: { Key } }));
      const { UnprocessedItems } = await client.send(new BatchWriteCommand({ RequestItems: { [table]: requests } }), {
        abortSignal,
      });
      const unprocessed = UnprocessedItems?.[table] ?? [];
      if (unprocessed.length > 0) throw new UnprocessedItemsError(unprocessed);
    }
  };

  /** @returns false for an item that this version of the service cannot work on: it is skipped */
  const cleanUp = async (tenant: string, item: unknown, abortSignal: AbortSignal): Promise<boolean> => {
    const { data: parsed } = cleanupItem.safeParse(item);
    if (!parsed) return false;
    const key = { tenant, id: parsed.notification_id };
    const current = await currentVersion(key, abortSignal);
    if (!current) return false;
    const obsolete = parsed.versions.filter(({ version, chunks }) => chunks > 0 && version !== current.version);
    await deleteChunks(key, obsolete, abortSignal);
    await deleteItem({ pk: parsed.pk, sk: parsed.sk }, abortSignal);
    return true;
  };

  const readOld = (tenant: string, startKey: Item | undefined, abortSignal: AbortSignal) =>
    client.send(
      new QueryCommand({
        TableName: table,
        KeyConditionExpression: 'pk = :pk AND sk < :before',
        ExpressionAttributeValues: {
          ':pk': cleanupPartition(tenant),
          ':before': encodeTime(Math.max(0, clock() - MIN_AGE_MS)),
        },
        ConsistentRead: true,
        Limit: ITEMS_AT_ONCE,
        ExclusiveStartKey: startKey,
      }),
      { abortSignal },
    );

  /** Works on each item by itself. @returns how many were skipped @throws the first item's error, after all have ended */
  const cleanUpEach = async (tenant: string, items: readonly Item[], abortSignal: AbortSignal): Promise<number> => {
    const results = await Promise.allSettled(items.map((item) => cleanUp(tenant, item, abortSignal)));
    const failed = results.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
    return results.filter((result) => result.status === 'fulfilled' && !result.value).length;
  };

  const cleanUpOld = async (tenant: string, abortSignal: AbortSignal): Promise<void> => {
    let skipped = 0;
    try {
      let startKey: Item | undefined;
      for (let reads = 0; reads < MAX_READS; reads++) {
        const { Items = [], LastEvaluatedKey } = await readOld(tenant, startKey, abortSignal);
        const skippedNow = await cleanUpEach(tenant, Items, abortSignal);
        skipped += skippedNow;
        // Items that are skipped stay, so those behind them are only found by reading on.
        if (skippedNow === 0 || !LastEvaluatedKey) break;
        startKey = LastEvaluatedKey;
      }
    } finally {
      if (skipped > 0) {
        logger.warn('cleanup items skipped', { tenant_id: tenant, skipped });
        count({ skipped_cleanup_items: skipped });
      }
    }
  };

  return {
    /** Names versions of a notification whose chunks may have to be deleted later. @returns the key of the cleanup item */
    async announce({ tenant, id }: NotificationKey, versions: readonly Version[]): Promise<ItemKey> {
      const key = { pk: cleanupPartition(tenant), sk: ulid(clock()) };
      const named = versions.map(({ version, chunks }) => ({ version, chunks }));
      await client.send(new PutCommand({ TableName: table, Item: { ...key, notification_id: id, versions: named } }));
      return key;
    },

    /** Deletes a cleanup item whose versions are all in use. Where that fails, a later cleanup finds that out by itself. */
    async withdraw(key: ItemKey): Promise<void> {
      await deleteItem(key).catch((error: unknown) => logger.warn('cleanup item not deleted', errorTrace(error)));
    },

    /**
     * Deletes chunks that older writes of the tenant left, for at most a second. Never rejects: failures are logged and counted,
     * and what is left is for the tenant's next write.
     */
    async run(tenant: string): Promise<void> {
      const timeout = AbortSignal.timeout(TIMEOUT_MS);
      await Promise.race([cleanUpOld(tenant, timeout), rejectionOf(timeout)]).catch((error: unknown) => {
        logger.warn('chunks not cleaned up', { tenant_id: tenant, ...errorTrace(error) });
        count({ chunk_cleanup_failures: 1 });
      });
    },
  };
};

/** Finds and deletes chunks that no target points to. */
export type ChunkCleanup = ReturnType<typeof createChunkCleanup>;
