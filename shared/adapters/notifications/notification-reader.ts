import { type DynamoDBDocumentClient, GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { MAX_BODY_BYTES } from '../../api/response.ts';
import type { NotificationRecord } from '../../contracts/notification.ts';
import { unavailable } from '../../domain/errors.ts';
import { defaultNotification, type NotificationKey } from '../../domain/notification.ts';
import { DEFAULT_NOTIFICATION_ID, isStoredNotificationId } from '../../domain/notification-id.ts';
import { batchGet, type Item, inBatches } from '../dynamodb/batches.ts';
import { readContents, weightedGroups } from './notification-content.ts';
import {
  isTombstone,
  parseStoredTarget,
  recordFrom,
  type StoredTarget,
  targetKey,
  targetPartition,
  type Version,
} from './notification-items.ts';
import { UnreadableNotificationError, unreadable } from './unreadable-notification.ts';

/** A notification with the version that an update must still find. */
export type VersionedNotification = { record: NotificationRecord; stored: Version };

/** How often a reader starts over because the version it read was replaced meanwhile. */
const READ_ROUNDS = 5;
/** Targets that a list by ids reads at once: one BatchGetItem. */
const IDS_AT_ONCE = 100;
/** A sort key is at most 1,024 bytes (DynamoDB); a marker cut at this length sorts as the whole one among our ids. */
const MARKER_LENGTH = 64;

/** A target's record takes at least so many bytes in a response, where its JSON is escaped. */
const recordBytes = ({ content_bytes, fields }: StoredTarget): number =>
  Object.values(fields).reduce((sum, value) => sum + Buffer.byteLength(value), content_bytes);

/** Undefined in place of a notification that this version cannot read, which was logged and counted. */
const omitUnreadable = (error: unknown): undefined => {
  if (!(error instanceof UnreadableNotificationError)) throw error;
};

/** Bytewise, as DynamoDB sorts; ids are ASCII, where UTF-16 order is the same. */
const isFrom = (id: string, from: string | null): boolean => from === null || id >= from;

/** Reads whole notifications (table Notifications), strongly consistent. */
export const createNotificationReader = (client: DynamoDBDocumentClient, table: string) => {
  /** Undefined for a tombstone. @throws UnreadableNotificationError */
  const parse = (key: NotificationKey, item: Item): StoredTarget | undefined => {
    if (isTombstone(item)) return undefined;
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
      return { record: recordFrom(target, content), stored: target };
    } catch (error) {
      throw unreadable(key, error);
    }
  };

  /**
   * Joins a target and its content. Where a chunk is missing, the target is read again: a version's chunks are deleted only
   * once the target points to another one.
   *
   * @returns undefined where the notification has been deleted meanwhile
   * @throws UnreadableNotificationError; ServiceError serviceUnavailable where the notification is replaced again and again
   */
  const complete = async (
    key: NotificationKey,
    first: StoredTarget,
    firstContent: Uint8Array | undefined,
  ): Promise<VersionedNotification | undefined> => {
    let target = first;
    let content = firstContent;
    for (let round = 1; content === undefined; round++) {
      if (round === READ_ROUNDS) throw unavailable();
      const current = await readTarget(key);
      if (!current) return undefined;
      if (current.version === target.version) throw unreadable(key);
      target = current;
      [content] = await readContents(client, table, key.tenant, [target]);
    }
    return join(key, target, content);
  };

  /**
   * The records of target items, in their order, without those that this version cannot read. Contents are read in parallel,
   * but no more of them than fill a page.
   */
  async function* records(
    tenant: string,
    items: readonly Item[],
    pageSize: number,
  ): AsyncGenerator<NotificationRecord> {
    const targets = items.flatMap((item) => {
      try {
        return parse({ tenant, id: String(item.sk) }, item) ?? [];
      } catch (error) {
        return omitUnreadable(error) ?? [];
      }
    });
    for (const group of weightedGroups(targets, recordBytes, MAX_BODY_BYTES, pageSize)) {
      const contents = await readContents(client, table, tenant, group);
      for (const [index, target] of group.entries()) {
        const notification = await complete({ tenant, id: target.sk }, target, contents[index]).catch(omitUnreadable);
        if (notification) yield notification.record;
      }
    }
  }

  return {
    /** One notification of the tenant, the default one included; undefined where there is none. */
    async get(key: NotificationKey): Promise<VersionedNotification | undefined> {
      if (key.id === DEFAULT_NOTIFICATION_ID) {
        return { record: defaultNotification, stored: { version: '', chunks: 0 } };
      }
      const target = isStoredNotificationId(key.id) ? await readTarget(key) : undefined;
      if (!target) return undefined;
      const [content] = await readContents(client, table, key.tenant, [target]);
      return complete(key, target, content);
    },

    /** The tenant's notifications from an id on, in order of their ids, the default one last. Read as they are taken. */
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
            // A second page is read where the first one held tombstones, of which there may be many.
            ...(next ? { ExclusiveStartKey: next } : { Limit: pageSize }),
          }),
        );
        yield* records(tenant, page.Items ?? [], pageSize);
        next = page.LastEvaluatedKey;
      } while (next);
      if (isFrom(DEFAULT_NOTIFICATION_ID, from)) yield defaultNotification;
    },

    /** Those of the ids that are the tenant's notifications, from an id on, in order. Read as they are taken. */
    async *listByIds(tenant: string, ids: readonly string[], from: string | null): AsyncGenerator<NotificationRecord> {
      const wanted = [...new Set(ids)].filter((id) => isStoredNotificationId(id) && isFrom(id, from)).sort();
      for (const batch of inBatches(wanted, IDS_AT_ONCE)) {
        const items = await batchGet(
          client,
          table,
          batch.map((id) => targetKey({ tenant, id })),
        );
        yield* records(
          tenant,
          items.sort((one, other) => (String(one.sk) < String(other.sk) ? -1 : 1)),
          IDS_AT_ONCE,
        );
      }
      if (ids.includes(DEFAULT_NOTIFICATION_ID) && isFrom(DEFAULT_NOTIFICATION_ID, from)) yield defaultNotification;
    },
  };
};
