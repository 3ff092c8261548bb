import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import {
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { ulid } from 'ulid';
import * as z from 'zod/mini';
import type { NotificationAttributes } from '../../contracts/notification.ts';
import type { Clock } from '../../domain/clock.ts';
import { unavailable } from '../../domain/errors.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import { isStoredNotificationId, newNotificationId } from '../../domain/notification-id.ts';
import { batchWrite, type Item } from '../dynamodb/batches.ts';
import { errorTrace, logger } from '../logger.ts';
import { count } from '../metrics.ts';
import { createChunkCleanup } from './chunk-cleanup.ts';
import { chunkKeys, isTombstone, notificationItems, targetKey, tombstone, type Version } from './notification-items.ts';

/** Times that a delete starts over because the notification was replaced meanwhile. */
const DELETE_ROUNDS = 10;
/**
 * How often unprocessed puts or deletes of chunks are sent, about 8 s in all: 4.5 MB take 5 s of the 1,000 write units a second
 * of a partition (AWS limit), to write and to delete.
 */
const CHUNK_ROUNDS = 14;
/** How long a tombstone stays at least: far longer than a second copy of a put can take, in seconds. */
const TOMBSTONE_SECONDS = 3_600;

/** The condition of a write to a target. */
type Condition = { ConditionExpression: string; ExpressionAttributeValues?: Item };

/** The condition that nobody else has written a target since it was read. */
const isUnchanged = ({ version }: Item): Condition =>
  version === undefined
    ? { ConditionExpression: 'attribute_exists(pk) AND attribute_not_exists(version)' }
    : { ConditionExpression: 'version = :version', ExpressionAttributeValues: { ':version': version } };

const versionOf = z.object({ version: z.string(), chunks: z.number() });

/** What became of a conditional write. */
type Written = {
  /** False where the condition failed. */
  isWritten: boolean;
  /** True where the SDK sent the request more than once: copies of it may still arrive. */
  isRepeated: boolean;
};

/**
 * Writes notifications (table Notifications). Every request may be applied twice, seconds apart, since the SDK repeats one that
 * is slow: so a target is only written on a condition that its own first copy makes false, no version is ever used again, and
 * what names chunks to delete stays until no copy of a put can arrive any more.
 */
export const createNotificationWriter = (client: DynamoDBDocumentClient, table: string, clock: Clock) => {
  const cleanup = createChunkCleanup(client, table, clock);

  /** Puts or deletes a target on a condition. */
  const writeTarget = async (request: PutCommand | DeleteCommand): Promise<Written> => {
    try {
      const { $metadata } = await (request instanceof PutCommand ? client.send(request) : client.send(request));
      return { isWritten: true, isRepeated: $metadata.attempts !== 1 };
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      return { isWritten: false, isRepeated: error.$metadata.attempts !== 1 };
    }
  };

  /** Version and chunks of a target, unparsed; undefined where there is no notification. */
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

  /** Deletes the chunks of a version that no target points to. Where that fails, its cleanup item remains. */
  const deleteChunks = async (key: NotificationKey, version: Version): Promise<void> => {
    const requests = chunkKeys(key, version).map((Key) => ({ DeleteRequest: { Key } }));
    await batchWrite(client, table, requests, CHUNK_ROUNDS).catch((error: unknown) =>
      logger.warn('chunks not deleted yet', { notification_id: key.id, chunks: version.chunks, ...errorTrace(error) }),
    );
  };

  /**
   * Writes a version: a cleanup item that names its chunks and those of the version it replaces, the chunks, then the target
   * on a condition. A writer that fails on the way leaves the old version as it was.
   */
  const write = async (
    key: NotificationKey,
    attributes: NotificationAttributes,
    condition: Condition,
    old: Version | undefined,
  ): Promise<Written> => {
    const version = ulid(clock());
    const { target, chunks } = notificationItems(key, version, attributes);
    const own = { version, chunks: chunks.length };
    const named = [own, ...(old ? [old] : [])].filter((one) => one.chunks > 0);
    const cleanupKey = named.length > 0 ? await cleanup.announce(key, named) : undefined;
    const puts = chunks.map((Item) => ({ PutRequest: { Item } }));
    await batchWrite(client, table, puts, CHUNK_ROUNDS);

    const Item = { ...target, create_repeated: old?.create_repeated };
    const { isWritten, isRepeated } = await writeTarget(new PutCommand({ TableName: table, Item, ...condition }));
    if (!isWritten && (await readVersion(key))?.version !== version) {
      await deleteChunks(key, own);
      return { isWritten, isRepeated };
    }
    // Where chunks were deleted, a delayed put of one may still arrive: the cleanup item stays for an hour.
    if (old && old.chunks > 0) await deleteChunks(key, old);
    else if (cleanupKey) await cleanup.withdraw(cleanupKey);
    return { isWritten: true, isRepeated };
  };

  /**
   * Records that a copy of the put that created a notification may still arrive. Never rejects, since the notification exists:
   * a failure is logged and counted. A copy that arrives after a delete then restores the notification.
   */
  const markRepeated = async (key: NotificationKey): Promise<void> => {
    const mark = new UpdateCommand({
      TableName: table,
      Key: targetKey(key),
      UpdateExpression: 'SET create_repeated = :true',
      ConditionExpression: 'attribute_exists(version)',
      ExpressionAttributeValues: { ':true': true },
    });
    await client.send(mark).catch((error: unknown) => {
      // It was deleted meanwhile.
      if (error instanceof ConditionalCheckFailedException) return;
      logger.warn('repeated create not recorded', {
        tenant_id: key.tenant,
        notification_id: key.id,
        ...errorTrace(error),
      });
      count({ unrecorded_repeated_creates: 1 });
    });
  };

  /** Where a second copy of the create's put may still arrive, it would bring the notification back if there were no item. */
  const deletion = (key: NotificationKey, target: Item): PutCommand | DeleteCommand => {
    const condition = isUnchanged(target);
    if (target.create_repeated !== true) {
      return new DeleteCommand({ TableName: table, Key: targetKey(key), ...condition });
    }
    const now = clock();
    const ttl = Math.floor(now / 1000) + TOMBSTONE_SECONDS;
    return new PutCommand({ TableName: table, Item: tombstone(key, now, ttl), ...condition });
  };

  /** Also deletes a target that this version of the service cannot read. @returns false where it was changed meanwhile */
  const deleteVersion = async (key: NotificationKey, target: Item): Promise<boolean> => {
    const { data: stored } = versionOf.safeParse(target);
    const hasChunks = stored !== undefined && stored.chunks > 0;
    if (hasChunks) await cleanup.announce(key, [stored]);
    const { isWritten } = await writeTarget(deletion(key, target));
    // It also fails where it is the SDK's second request, after the response to the first one was lost.
    const isDeleted = isWritten || (await readVersion(key)) === undefined;
    if (isDeleted && hasChunks) await deleteChunks(key, stored);
    return isDeleted;
  };

  const deleteNotification = async (key: NotificationKey): Promise<boolean> => {
    for (let round = 0; round < DELETE_ROUNDS; round++) {
      const found = await readVersion(key);
      if (!found) return round > 0;
      if (await deleteVersion(key, found)) return true;
    }
    throw unavailable();
  };

  /** Writes, and cleans up beside it what older writes of the tenant left. */
  const withCleanup = async <Result>(tenant: string, writing: Promise<Result>): Promise<Result> => {
    const [written] = await Promise.allSettled([writing, cleanup.run(tenant)]);
    if (written.status === 'rejected') throw written.reason;
    return written.value;
  };

  return {
    /** Creates a notification. @returns its id */
    async create(tenant: string, attributes: NotificationAttributes): Promise<string> {
      const id = newNotificationId();
      const isNew = { ConditionExpression: 'attribute_not_exists(pk)' };
      const key = { tenant, id };
      const { isRepeated } = await withCleanup(tenant, write(key, attributes, isNew, undefined));
      if (isRepeated) await markRepeated(key);
      return id;
    },

    /** Replaces a notification if it still has this version. @returns false where it has not */
    async replace(key: NotificationKey, old: Version, attributes: NotificationAttributes): Promise<boolean> {
      const { isWritten } = await withCleanup(key.tenant, write(key, attributes, isUnchanged(old), old));
      return isWritten;
    },

    /** Deletes a notification. @returns false where there was none */
    async delete(key: NotificationKey): Promise<boolean> {
      if (!isStoredNotificationId(key.id)) return false;
      return withCleanup(key.tenant, deleteNotification(key));
    },
  };
};
