import {
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
} from '@aws-sdk/lib-dynamodb';
import { encodeTime } from 'ulid';
import * as z from 'zod/mini';
import type { Clock } from '../../domain/clock.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import { ulid } from '../../domain/ulid.ts';
import type { ItemKey } from '../dynamodb/batches.ts';
import { batchWriteItems } from '../dynamodb/batches.ts';
import { UnprocessedItemsError } from '../dynamodb/errors.ts';
import type { Item } from '../dynamodb/items.ts';
import { errorTrace, logger } from '../logger.ts';
import { count } from '../metrics.ts';
import { chunkKeys, targetKey, type Version } from './notification-items.ts';

/** The minimum age of a cleanup item. Older ones have no active writer and no delayed request. */
const MIN_AGE_MS = 3_600_000;
/** The number of cleanup items that are read and processed together. */
const PAGE_SIZE = 10;
/** The timeout of a cleanup, which delays the response to a write. */
const TIMEOUT_MS = 1_000;

const cleanupPartition = (tenant: string): string => `cleanup#${tenant}`;

const cleanupItem = z.object({
  pk: z.string(),
  sk: z.string(),
  notification_id: z.string(),
  // The chunks of a version are deleted by one BatchWriteItem of at most 25 requests (AWS limit).
  versions: z.array(z.object({ version: z.string(), chunks: z.int().check(z.minimum(0), z.maximum(25)) })),
});

const versionOnly = z.object({ version: z.string() });

/** Rejects when the signal aborts. The SDK does not check the signal while it waits between two attempts. */
const rejectOnAbort = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

/**
 * Deletes chunks that no target points to. Before a writer creates chunks or makes some obsolete, it writes a cleanup
 * item with their versions. If the writer fails, a later write of the tenant with chunks deletes the obsolete ones: small
 * writes don't pay for a query.
 */
export const createChunkCleanup = (client: DynamoDBDocumentClient, table: string, clock: Clock) => {
  const deleteCleanupItem = (key: ItemKey, abortSignal?: AbortSignal) =>
    client.send(new DeleteCommand({ TableName: table, Key: key }), { ...(abortSignal && { abortSignal }) });

  /** Reads the version of a target, undefined if there is none. @throws ZodError if it is not readable */
  const currentVersion = async (key: NotificationKey, abortSignal: AbortSignal): Promise<string | undefined> => {
    const { Item } = await client.send(
      new GetCommand({ TableName: table, Key: targetKey(key), ProjectionExpression: 'version', ConsistentRead: true }),
      { abortSignal },
    );
    return Item && versionOnly.parse(Item).version;
  };

  /**
   * Deletes all chunks of the given versions.
   *
   * @throws UnprocessedItemsError, after which the next cleanup tries again
   */
  const deleteChunks = async (
    key: NotificationKey,
    versions: readonly Version[],
    abortSignal: AbortSignal,
  ): Promise<void> => {
    for (const version of versions) {
      const requests = chunkKeys(key, version).map((Key) => ({ DeleteRequest: { Key } }));
      const unprocessed = await batchWriteItems(client, table, requests, { abortSignal });
      if (unprocessed.length > 0) throw new UnprocessedItemsError(unprocessed);
    }
  };

  /** @throws ZodError if the item or its target is not readable */
  const cleanUp = async (tenant: string, item: Item, abortSignal: AbortSignal): Promise<void> => {
    const { pk, sk, notification_id: id, versions } = cleanupItem.parse(item);
    const current = await currentVersion({ tenant, id }, abortSignal);
    const obsolete = versions.filter(({ version, chunks }) => chunks > 0 && version !== current);
    await deleteChunks({ tenant, id }, obsolete, abortSignal);
    await deleteCleanupItem({ pk, sk }, abortSignal);
  };

  /** Processes the oldest cleanup items concurrently. @throws the first error, after all have finished */
  const cleanUpTenant = async (tenant: string, abortSignal: AbortSignal): Promise<void> => {
    const { Items = [] } = await client.send(
      new QueryCommand({
        TableName: table,
        KeyConditionExpression: 'pk = :pk AND sk < :before',
        ExpressionAttributeValues: {
          ':pk': cleanupPartition(tenant),
          ':before': encodeTime(Math.max(0, clock() - MIN_AGE_MS)),
        },
        ConsistentRead: true,
        Limit: PAGE_SIZE,
      }),
      { abortSignal },
    );
    const results = await Promise.allSettled(Items.map((item) => cleanUp(tenant, item, abortSignal)));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  };

  /**
   * Deletes obsolete chunks of the tenant's earlier writes, for at most 1 s. Never rejects: failures are logged and
   * counted, and the tenant's next write with chunks tries again.
   */
  const run = async (tenant: string): Promise<void> => {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    await Promise.race([cleanUpTenant(tenant, timeout), rejectOnAbort(timeout)]).catch((error: unknown) => {
      logger.warn('chunks not cleaned up', { tenant_id: tenant, ...errorTrace(error) });
      count({ chunk_cleanup_failures: 1 });
    });
  };

  return {
    /**
     * Writes a cleanup item with versions whose chunks may become obsolete, and meanwhile cleans up after the tenant's
     * earlier writes.
     *
     * @returns its key
     */
    async schedule({ tenant, id }: NotificationKey, versions: readonly Version[]): Promise<ItemKey> {
      const key = { pk: cleanupPartition(tenant), sk: ulid(clock()) };
      const Item = {
        ...key,
        notification_id: id,
        versions: versions.map(({ version, chunks }) => ({ version, chunks })),
      };
      await Promise.all([client.send(new PutCommand({ TableName: table, Item })), run(tenant)]);
      return key;
    },

    /**
     * Deletes a cleanup item whose versions are all in use. Never rejects: if the delete fails, a later cleanup deletes
     * the item.
     */
    async cancel(key: ItemKey): Promise<void> {
      await deleteCleanupItem(key).catch((error: unknown) =>
        logger.warn('cleanup item not deleted', errorTrace(error)),
      );
    },
  };
};
