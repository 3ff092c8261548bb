import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { NotificationAttributes } from '../../contracts/notification.ts';
import type { NotificationRecord } from '../../contracts/responses/notifications.ts';
import { unavailable } from '../../domain/errors.ts';
import { inBatches } from '../../domain/in-batches.ts';
import { defaultNotification, type NotificationKey } from '../../domain/notification.ts';
import { maskedRecord } from '../../domain/notification-changes.ts';
import { DEFAULT_NOTIFICATION_ID, isStoredNotificationId } from '../../domain/notification-id.ts';
import type { Clock } from '../../domain/time.ts';
import { batchGet } from '../dynamodb/batches.ts';
import { getItem, type Item, type Projection, queryItems, sortKeyOf } from '../dynamodb/items.ts';
import { MAX_BATCH_KEYS } from '../dynamodb/read-each.ts';
import {
  attributesFrom,
  chunkKeys,
  parseChunk,
  parseStoredTarget,
  type StoredTarget,
  type Version,
} from './notification-items.ts';
import { omitUnreadable, targetKey, targetPartition, unreadable } from './notification-targets.ts';

/** A notification and its stored version, which an update expects to be unchanged. */
export type VersionedNotification = {
  record: NotificationRecord;
  /** The attributes with the secrets that the record masks. Only an update needs them. */
  unmasked: NotificationAttributes;
  stored: Version & Pick<StoredTarget, 'signing_secrets' | 'mutes'>;
};

const MAX_READ_ATTEMPTS = 5;

/** Compares like DynamoDB: IDs are ASCII, so UTF-16 order equals byte order. */
const isFrom = (id: string, from: string | null): boolean => from === null || id >= from;

/** Creates the reads of whole notifications (table Notifications), all strongly consistent. */
export const createNotificationReader = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => {
  const parse = (key: NotificationKey, item: Item): StoredTarget => {
    try {
      return parseStoredTarget(item);
    } catch (error) {
      throw unreadable(key, error);
    }
  };

  const readItem = (key: NotificationKey, projection?: Projection): Promise<Item | undefined> =>
    getItem(client, table, targetKey(key), projection);

  const join = (key: NotificationKey, target: StoredTarget, content: Uint8Array): VersionedNotification => {
    try {
      const unmasked = attributesFrom(target, content, clock());
      return { record: maskedRecord(target.sk, unmasked), unmasked, stored: target };
    } catch (error) {
      throw unreadable(key, error);
    }
  };

  /** Returns the content of a target as it is stored, strongly consistent, or undefined if one of its chunks is missing. */
  const readContent = async (key: NotificationKey, target: StoredTarget): Promise<Uint8Array | undefined> => {
    if (target.chunks === 0) return target.content;
    const keys = chunkKeys(key, target);
    const found = new Map((await batchGet(client, table, keys)).map((item) => [item.sk, parseChunk(item)]));
    const contents = keys.flatMap(({ sk }) => found.get(sk) ?? []);
    return contents.length === target.chunks ? Buffer.concat(contents) : undefined;
  };

  /**
   * Joins a target and its content. If a chunk is missing, the target is read again: chunks are deleted after the
   * target points to another version. @throws UnreadableNotificationError; ServiceError serviceUnavailable
   */
  const complete = async (key: NotificationKey, item: Item): Promise<VersionedNotification | undefined> => {
    let target = parse(key, item);
    for (let attempt = 1; ; attempt++) {
      const content = await readContent(key, target);
      if (content) return join(key, target, content);
      if (attempt === MAX_READ_ATTEMPTS) throw unavailable();
      const current = await readItem(key);
      if (!current) return undefined;
      const { version } = target;
      target = parse(key, current);
      if (target.version === version) throw unreadable(key);
    }
  };

  /** Returns the record of a target in a list, or undefined if it is unreadable or has been deleted. */
  const listed = async (tenant: string, item: Item): Promise<NotificationRecord | undefined> =>
    (await complete({ tenant, id: String(item.sk) }, item).catch(omitUnreadable))?.record;

  return {
    /** Returns a notification of the tenant, or undefined if it does not exist. Includes the default notification. */
    async get(key: NotificationKey): Promise<VersionedNotification | undefined> {
      if (key.id === DEFAULT_NOTIFICATION_ID) {
        return { record: defaultNotification, unmasked: defaultNotification, stored: { version: '', chunks: 0 } };
      }
      const item = isStoredNotificationId(key.id) ? await readItem(key) : undefined;
      return item && complete(key, item);
    },

    /** Returns whether the tenant has a notification with this ID, readable or not. */
    async exists(key: NotificationKey): Promise<boolean> {
      if (key.id === DEFAULT_NOTIFICATION_ID) return true;
      return isStoredNotificationId(key.id) && (await readItem(key, { ProjectionExpression: 'pk' })) !== undefined;
    },

    /** Yields notifications by ID from `from` on, the default notification last. Reads lazily. */
    async *list(tenant: string, from: string | null, pageSize: number): AsyncGenerator<NotificationRecord> {
      const start = sortKeyOf(from);
      const items = queryItems(client, {
        TableName: table,
        KeyConditionExpression: start ? 'pk = :pk AND sk >= :start' : 'pk = :pk',
        ExpressionAttributeValues: { ':pk': targetPartition(tenant), ...(start && { ':start': start }) },
        ConsistentRead: true,
        Limit: pageSize,
      });
      for await (const item of items) {
        const record = await listed(tenant, item);
        if (record) yield record;
      }
      if (isFrom(DEFAULT_NOTIFICATION_ID, from)) yield defaultNotification;
    },

    /** The same, of those among `ids`. */
    async *listByIds(tenant: string, ids: readonly string[], from: string | null): AsyncGenerator<NotificationRecord> {
      const sortedIds = [...new Set(ids)].filter((id) => isStoredNotificationId(id) && isFrom(id, from)).sort();
      for (const batch of inBatches(sortedIds, MAX_BATCH_KEYS)) {
        const items = await batchGet(
          client,
          table,
          batch.map((id) => targetKey({ tenant, id })),
        );
        for (const item of items.sort((a, b) => (String(a.sk) < String(b.sk) ? -1 : 1))) {
          const record = await listed(tenant, item);
          if (record) yield record;
        }
      }
      if (ids.includes(DEFAULT_NOTIFICATION_ID) && isFrom(DEFAULT_NOTIFICATION_ID, from)) yield defaultNotification;
    },
  };
};
