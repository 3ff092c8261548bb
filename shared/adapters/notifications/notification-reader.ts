import { type DynamoDBDocumentClient, GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import type { NotificationAttributes, NotificationRecord } from '../../contracts/notification.ts';
import { unavailable } from '../../domain/errors.ts';
import { inBatches } from '../../domain/in-batches.ts';
import { defaultNotification, maskedRecord, type NotificationKey } from '../../domain/notification.ts';
import { DEFAULT_NOTIFICATION_ID, isStoredNotificationId } from '../../domain/notification-id.ts';
import { batchGet, MAX_BATCH_KEYS } from '../dynamodb/batches.ts';
import type { Item } from '../dynamodb/items.ts';
import { readContents, weightedGroups } from './notification-content.ts';
import {
  attributesFrom,
  parseStoredTarget,
  type StoredTarget,
  targetKey,
  targetPartition,
  type Version,
} from './notification-items.ts';
import { UnreadableNotificationError, unreadable } from './unreadable-notification.ts';

/** A notification and its stored version, which an update expects to be unchanged. */
export type VersionedNotification = {
  record: NotificationRecord;
  /** The attributes with the secrets that the record masks. Only an update needs them. */
  unmasked: NotificationAttributes;
  stored: Version;
};

/** The maximum number of attempts to read a notification that is replaced during the read. */
const MAX_READ_ATTEMPTS = 5;
/** The maximum size of the content that concurrent reads load: as much as fits into one API response. */
const MAX_GROUP_BYTES = 5.5 * 1024 * 1024;
/**
 * DynamoDB limits sort keys to 1,024 bytes. IDs are shorter than this, so a truncated marker sorts like the whole one.
 */
const MARKER_LENGTH = 64;

/** Returns a lower bound of the size of a record in a response. */
const minRecordBytes = ({ content_bytes, fields }: StoredTarget): number =>
  Object.values(fields).reduce((sum, value) => sum + Buffer.byteLength(value), content_bytes);

/** Returns undefined for an unreadable notification, which is already logged and counted. Rethrows other errors. */
const omitUnreadable = (error: unknown): undefined => {
  if (!(error instanceof UnreadableNotificationError)) throw error;
};

/** Compares like DynamoDB: IDs are ASCII, so UTF-16 order equals byte order. */
const isFrom = (id: string, from: string | null): boolean => from === null || id >= from;

/** Creates the reads of whole notifications (table Notifications), all strongly consistent. */
export const createNotificationReader = (client: DynamoDBDocumentClient, table: string) => {
  /** Parses a target. @throws UnreadableNotificationError */
  const parse = (key: NotificationKey, item: Item): StoredTarget => {
    try {
      return parseStoredTarget(item);
    } catch (error) {
      throw unreadable(key, error);
    }
  };

  const readTarget = async (key: NotificationKey): Promise<StoredTarget | undefined> => {
    const { Item } = await client.send(new GetCommand({ TableName: table, Key: targetKey(key), ConsistentRead: true }));
    return Item && parse(key, Item);
  };

  const join = (key: NotificationKey, target: StoredTarget, content: Uint8Array): VersionedNotification => {
    try {
      const unmasked = attributesFrom(target, content);
      return { record: maskedRecord(target.sk, unmasked), unmasked, stored: target };
    } catch (error) {
      throw unreadable(key, error);
    }
  };

  /**
   * Joins a target and its content. If a chunk is missing, the target is read again, since the chunks of a version are
   * deleted only after the target points to another version.
   *
   * @returns undefined if the notification has been deleted
   * @throws UnreadableNotificationError
   * @throws ServiceError serviceUnavailable if every attempt finds a replaced version
   */
  const complete = async (
    key: NotificationKey,
    first: StoredTarget,
    firstContent: Uint8Array | undefined,
  ): Promise<VersionedNotification | undefined> => {
    let target = first;
    let content = firstContent;
    for (let attempt = 1; content === undefined; attempt++) {
      if (attempt === MAX_READ_ATTEMPTS) throw unavailable();
      const current = await readTarget(key);
      if (!current) return undefined;
      if (current.version === target.version) throw unreadable(key);
      target = current;
      [content] = await readContents(client, table, key.tenant, [target]);
    }
    return join(key, target, content);
  };

  /**
   * Yields the records of targets in order, without unreadable ones. The contents of a page are read
   * concurrently, those of the next page only when they are needed.
   */
  async function* records(
    tenant: string,
    items: readonly Item[],
    pageSize: number,
  ): AsyncGenerator<NotificationRecord> {
    const targets = items.flatMap((item) => {
      try {
        return parse({ tenant, id: String(item.sk) }, item);
      } catch (error) {
        return omitUnreadable(error) ?? [];
      }
    });
    for (const group of weightedGroups(targets, minRecordBytes, MAX_GROUP_BYTES, pageSize)) {
      const contents = await readContents(client, table, tenant, group);
      for (const [index, target] of group.entries()) {
        const notification = await complete({ tenant, id: target.sk }, target, contents[index]).catch(omitUnreadable);
        if (notification) yield notification.record;
      }
    }
  }

  return {
    /** Returns a notification of the tenant, or undefined if it does not exist. Includes the default notification. */
    async get(key: NotificationKey): Promise<VersionedNotification | undefined> {
      if (key.id === DEFAULT_NOTIFICATION_ID) {
        return { record: defaultNotification, unmasked: defaultNotification, stored: { version: '', chunks: 0 } };
      }
      const target = isStoredNotificationId(key.id) ? await readTarget(key) : undefined;
      if (!target) return undefined;
      const [content] = await readContents(client, table, key.tenant, [target]);
      return complete(key, target, content);
    },

    /** Returns whether the tenant has a notification with this ID, readable or not. */
    async exists({ tenant, id }: NotificationKey): Promise<boolean> {
      if (id === DEFAULT_NOTIFICATION_ID) return true;
      if (!isStoredNotificationId(id)) return false;
      const Key = targetKey({ tenant, id });
      const { Item } = await client.send(
        new GetCommand({ TableName: table, Key, ProjectionExpression: 'pk', ConsistentRead: true }),
      );
      return Item !== undefined;
    },

    /**
     * Yields the tenant's notifications in ID order, starting with `from`, the default notification last. Reads lazily.
     */
    async *list(tenant: string, from: string | null, pageSize: number): AsyncGenerator<NotificationRecord> {
      const start = from?.slice(0, MARKER_LENGTH).toWellFormed();
      let next: Item | undefined;
      do {
        const page = await client.send(
          new QueryCommand({
            TableName: table,
            KeyConditionExpression: start ? 'pk = :pk AND sk >= :start' : 'pk = :pk',
            ExpressionAttributeValues: { ':pk': targetPartition(tenant), ...(start && { ':start': start }) },
            ConsistentRead: true,
            Limit: pageSize,
            // Another query is needed if a page of this size has more than 1 MB (AWS limit).
            ExclusiveStartKey: next,
          }),
        );
        yield* records(tenant, page.Items ?? [], pageSize);
        next = page.LastEvaluatedKey;
      } while (next);
      if (isFrom(DEFAULT_NOTIFICATION_ID, from)) yield defaultNotification;
    },

    /** Yields the tenant's notifications among `ids` in ID order, starting with `from`. Reads lazily. */
    async *listByIds(tenant: string, ids: readonly string[], from: string | null): AsyncGenerator<NotificationRecord> {
      const sortedIds = [...new Set(ids)].filter((id) => isStoredNotificationId(id) && isFrom(id, from)).sort();
      for (const batch of inBatches(sortedIds, MAX_BATCH_KEYS)) {
        const items = await batchGet(
          client,
          table,
          batch.map((id) => targetKey({ tenant, id })),
        );
        yield* records(
          tenant,
          items.sort((a, b) => (String(a.sk) < String(b.sk) ? -1 : 1)),
          MAX_BATCH_KEYS,
        );
      }
      if (ids.includes(DEFAULT_NOTIFICATION_ID) && isFrom(DEFAULT_NOTIFICATION_ID, from)) yield defaultNotification;
    },
  };
};
