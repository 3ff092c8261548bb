import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import {
  DeleteCommand,
  type DeleteCommandOutput,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  type PutCommandOutput,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { ulid } from 'ulid';
import * as z from 'zod/mini';
import type { NotificationAttributes } from '../../contracts/notification.ts';
import type { Clock } from '../../domain/clock.ts';
import { unavailable } from '../../domain/errors.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import { isStoredNotificationId, newNotificationId } from '../../domain/notification-id.ts';
import { batchWrite } from '../dynamodb/batches.ts';
import type { Item } from '../dynamodb/items.ts';
import { errorTrace, logger } from '../logger.ts';
import { count } from '../metrics.ts';
import { createChunkCleanup } from './chunk-cleanup.ts';
import { chunkKeys, isTombstone, notificationItems, targetKey, tombstone, type Version } from './notification-items.ts';

/** The maximum number of attempts to delete a notification that other requests replace concurrently. */
const MAX_DELETE_ATTEMPTS = 10;
/**
 * The maximum number of attempts to write or delete all chunks, about 8 s in total: 4.5 MB need 5 s of a partition's
 * 1,000 write units per second (AWS limit).
 */
const MAX_CHUNK_ATTEMPTS = 14;
/** The retention of tombstones: far longer than a copy of a put can be delayed. */
const TOMBSTONE_SECONDS = 3_600;

/** The condition of a write to a target. */
type Condition = { ConditionExpression: string; ExpressionAttributeValues?: Item };

/** Returns the condition that the target has not changed since it was read. */
const isUnchanged = ({ version }: Item): Condition =>
  version === undefined
    ? { ConditionExpression: 'attribute_exists(pk) AND attribute_not_exists(version)' }
    : { ConditionExpression: 'version = :version', ExpressionAttributeValues: { ':version': version } };

const versionOf = z.object({ version: z.string(), chunks: z.number() });

/** The result of a conditional write. */
type WriteResult = {
  /** False if the condition failed. */
  isWritten: boolean;
  /** True if the SDK repeated the request: a copy of it may still arrive. */
  isRepeated: boolean;
};

/**
 * Creates the writes of notifications (table Notifications). The SDK repeats slow requests, so any request may be
 * applied twice, seconds apart. Therefore the condition of a target write fails for a second copy, versions are never
 * reused, and a cleanup item is kept until no copy of a put can arrive (docs/decisions/storage.md#repeated-writes).
 */
export const createNotificationWriter = (client: DynamoDBDocumentClient, table: string, clock: Clock) => {
  const cleanup = createChunkCleanup(client, table, clock);

  /** Waits for the put or delete of a target. */
  const writeTarget = async (write: Promise<DeleteCommandOutput | PutCommandOutput>): Promise<WriteResult> => {
    try {
      const { $metadata } = await write;
      return { isWritten: true, isRepeated: $metadata.attempts !== 1 };
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      return { isWritten: false, isRepeated: error.$metadata.attempts !== 1 };
    }
  };

  /** Returns the version attributes of a target, unparsed, or undefined if the notification does not exist. */
  const readVersion = async (key: NotificationKey): Promise<Item | undefined> => {
    const { Item } = await client.send(
      new GetCommand({
        TableName: table,
        Key: targetKey(key),
        ProjectionExpression: 'version, chunks, create_repeated, deleted_at_ms',
        ConsistentRead: true,
      }),
    );
    return Item && !isTombstone(Item) ? Item : undefined;
  };

  /** Deletes the chunks of an obsolete version. Never rejects: its cleanup item remains. */
  const deleteChunks = async (key: NotificationKey, version: Version): Promise<void> => {
    const requests = chunkKeys(key, version).map((Key) => ({ DeleteRequest: { Key } }));
    await batchWrite(client, table, requests, MAX_CHUNK_ATTEMPTS).catch((error: unknown) =>
      logger.warn('chunks not deleted yet', { notification_id: key.id, chunks: version.chunks, ...errorTrace(error) }),
    );
  };

  /**
   * Writes a version: first a cleanup item for its chunks and those of the replaced version, then the chunks, then the
   * target, if the condition is met. A writer that fails leaves the old version unchanged.
   */
  const write = async (
    key: NotificationKey,
    attributes: NotificationAttributes,
    condition: Condition,
    old: Version | undefined,
  ): Promise<WriteResult> => {
    const version = ulid(clock());
    const { target, chunks } = notificationItems(key, version, attributes);
    const written = { version, chunks: chunks.length };
    const chunkedVersions = [written, ...(old ? [old] : [])].filter((candidate) => candidate.chunks > 0);
    const cleanupKey = chunkedVersions.length > 0 ? await cleanup.schedule(key, chunkedVersions) : undefined;
    const puts = chunks.map((Item) => ({ PutRequest: { Item } }));
    await batchWrite(client, table, puts, MAX_CHUNK_ATTEMPTS);

    const Item = { ...target, create_repeated: old?.create_repeated };
    const { isWritten, isRepeated } = await writeTarget(
      client.send(new PutCommand({ TableName: table, Item, ...condition })),
    );
    if (!isWritten && (await readVersion(key))?.version !== version) {
      await deleteChunks(key, written);
      return { isWritten, isRepeated };
    }
    // If chunks were deleted, a late copy of a chunk put may still arrive, so the cleanup item stays for an hour.
    if (old && old.chunks > 0) await deleteChunks(key, old);
    else if (cleanupKey) await cleanup.cancel(cleanupKey);
    return { isWritten: true, isRepeated };
  };

  /**
   * Records that a copy of the put that created a notification may still arrive. Never rejects, since the notification
   * exists: a failure is logged and counted. In that case, a copy that arrives after a delete restores the
   * notification.
   */
  const recordRepeatedCreate = async (key: NotificationKey): Promise<void> => {
    const update = client.send(
      new UpdateCommand({
        TableName: table,
        Key: targetKey(key),
        UpdateExpression: 'SET create_repeated = :true',
        ConditionExpression: 'attribute_exists(version)',
        ExpressionAttributeValues: { ':true': true },
      }),
    );
    await update.catch((error: unknown) => {
      // The notification has been deleted.
      if (error instanceof ConditionalCheckFailedException) return;
      logger.warn('repeated create not recorded', {
        tenant_id: key.tenant,
        notification_id: key.id,
        ...errorTrace(error),
      });
      count({ unrecorded_repeated_creates: 1 });
    });
  };

  /**
   * Deletes a target, or replaces it with a tombstone if a late copy of the create could restore it, unless it has
   * changed since it was read.
   */
  const deleteTarget = (key: NotificationKey, target: Item): Promise<DeleteCommandOutput | PutCommandOutput> => {
    const condition = isUnchanged(target);
    if (target.create_repeated !== true) {
      return client.send(new DeleteCommand({ TableName: table, Key: targetKey(key), ...condition }));
    }
    const nowMs = clock();
    const ttl = Math.floor(nowMs / 1000) + TOMBSTONE_SECONDS;
    return client.send(new PutCommand({ TableName: table, Item: tombstone(key, nowMs, ttl), ...condition }));
  };

  /** Deletes a version of a notification, even an unreadable one. @returns false if the notification has changed */
  const deleteVersion = async (key: NotificationKey, target: Item): Promise<boolean> => {
    const { data: stored } = versionOf.safeParse(target);
    const hasChunks = stored !== undefined && stored.chunks > 0;
    if (hasChunks) await cleanup.schedule(key, [stored]);
    const { isWritten } = await writeTarget(deleteTarget(key, target));
    // The condition also fails for an SDK retry after the response to the first request was lost.
    const isDeleted = isWritten || (await readVersion(key)) === undefined;
    if (isDeleted && hasChunks) await deleteChunks(key, stored);
    return isDeleted;
  };

  const deleteNotification = async (key: NotificationKey): Promise<boolean> => {
    for (let attempt = 0; attempt < MAX_DELETE_ATTEMPTS; attempt++) {
      const target = await readVersion(key);
      if (!target) return attempt > 0;
      if (await deleteVersion(key, target)) return true;
    }
    throw unavailable();
  };

  /** Cleans up obsolete chunks of the tenant during a write. @returns the result of the write */
  const withCleanup = async <Result>(tenant: string, write: Promise<Result>): Promise<Result> => {
    const [result] = await Promise.allSettled([write, cleanup.run(tenant)]);
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  };

  return {
    /** Creates a notification. @returns its ID */
    async create(tenant: string, attributes: NotificationAttributes): Promise<string> {
      const id = newNotificationId();
      const isNew = { ConditionExpression: 'attribute_not_exists(pk)' };
      const key = { tenant, id };
      const { isRepeated } = await withCleanup(tenant, write(key, attributes, isNew, undefined));
      if (isRepeated) await recordRepeatedCreate(key);
      return id;
    },

    /** Replaces a notification if its version is `old`. @returns false if it has changed */
    async replace(key: NotificationKey, old: Version, attributes: NotificationAttributes): Promise<boolean> {
      const { isWritten } = await withCleanup(key.tenant, write(key, attributes, isUnchanged(old), old));
      return isWritten;
    },

    /** Deletes a notification. @returns false if it did not exist */
    async delete(key: NotificationKey): Promise<boolean> {
      if (!isStoredNotificationId(key.id)) return false;
      return withCleanup(key.tenant, deleteNotification(key));
    },
  };
};
