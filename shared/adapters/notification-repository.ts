import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import {
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
} from '@aws-sdk/lib-dynamodb';
import { ulid } from 'ulid';
import type { NotificationAttributes, NotificationRecord } from '../contracts/notification.ts';
import { batches } from '../domain/batches.ts';
import { unavailable } from '../domain/errors.ts';
import { defaultNotification, type NotificationKey } from '../domain/notification.ts';
import { DEFAULT_NOTIFICATION_ID, isStoredNotificationId, newNotificationId } from '../domain/notification-id.ts';
import { batchGet, batchWrite } from './dynamodb-batches.ts';
import { errorTrace, logger } from './logger.ts';
import {
  chunkKeys,
  chunkPartition,
  chunkPrefix,
  headPartition,
  notificationItems,
  parseChunk,
  parseHead,
  recordFrom,
  type StoredHead,
} from './notification-items.ts';
import { readTargets, type TargetReads } from './notification-targets.ts';
import type { Clock } from './token-repository.ts';

/** A version of a notification, and the chunks that it lies in. */
export type Version = { version: string; chunks: number };

/** A notification with the version that an update must still find. */
export type VersionedNotification = { record: NotificationRecord; stored: Version };

/** Times that a reader starts over because the version it read was replaced under its eyes. */
const READ_ROUNDS = 5;
/** Notifications that a list by ids reads ahead of what it has handed out. */
const IDS_AT_ONCE = 25;
/** How long chunks outlive a writer that died before it was done, in seconds. */
const ORPHAN_SECONDS = 86_400;
/** A sort key is at most 1,024 bytes (DynamoDB); a marker cut at this length sorts as the whole one among our ids. */
const MARKER_LENGTH = 64;

type Item = Record<string, unknown>;

/** Notifications of all tenants (table Notifications). All reads are strongly consistent. */
export const createNotificationRepository = (
  client: DynamoDBDocumentClient,
  table: string,
  clock: Clock = Date.now,
) => {
  const putAll = (items: Item[]) =>
    batchWrite(
      client,
      table,
      items.map((Item) => ({ PutRequest: { Item } })),
    );

  /**
   * Deletes the chunks of a version that no head names any more. What it is a part of is done already: where it fails, they
   * cost their storage and nothing else.
   */
  const deleteChunks = async (tenant: string, id: string, { version, chunks }: Version): Promise<void> => {
    const requests = chunkKeys(tenant, id, version, chunks).map((Key) => ({ DeleteRequest: { Key } }));
    await batchWrite(client, table, requests).catch((error: unknown) =>
      logger.warn('chunks left behind', { notification_id: id, chunks, ...errorTrace(error) }),
    );
  };

  const getHead = async (tenant: string, id: string): Promise<StoredHead | undefined> => {
    const { Item } = await client.send(
      new GetCommand({ TableName: table, Key: { pk: headPartition(tenant), sk: id }, ConsistentRead: true }),
    );
    return Item && parseHead(Item);
  };

  /** The content of a head, or undefined where a chunk is missing: then the version has been replaced or deleted. */
  const contentOf = async (tenant: string, head: StoredHead): Promise<Uint8Array | undefined> => {
    if (head.chunks === 0) return head.content;
    const parts: Uint8Array[] = [];
    let from: Item | undefined;
    do {
      const page = await client.send(
        new QueryCommand({
          TableName: table,
          KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)',
          ExpressionAttributeValues: { ':pk': chunkPartition(tenant), ':prefix': chunkPrefix(head.sk, head.version) },
          ConsistentRead: true,
          ...(from && { ExclusiveStartKey: from }),
        }),
      );
      parts.push(...(page.Items ?? []).map(parseChunk));
      from = page.LastEvaluatedKey;
    } while (from);
    return parts.length === head.chunks ? Buffer.concat(parts) : undefined;
  };

  /** Completes a head; where a chunk is missing, the head is read again. Undefined where the notification is gone. */
  const complete = async (tenant: string, first: StoredHead): Promise<VersionedNotification | undefined> => {
    let head: StoredHead | undefined = first;
    for (let round = 0; head && round < READ_ROUNDS; round++) {
      const content = await contentOf(tenant, head);
      if (content) return { record: recordFrom(head, content), stored: head };
      head = await getHead(tenant, head.sk);
    }
    if (head) throw unavailable();
    return undefined;
  };

  /**
   * Writes a version: chunks that expire, the same chunks for good, then the head by condition. A writer that dies on the
   * way leaves the old version as it was. @returns false where the condition failed
   */
  const write = async (
    tenant: string,
    id: string,
    attributes: NotificationAttributes,
    condition: { ConditionExpression: string; ExpressionAttributeValues?: Item },
  ): Promise<boolean> => {
    const version = ulid();
    const { head, chunks } = notificationItems(tenant, id, version, attributes);
    if (head.chunks > 0) {
      await putAll(chunks(Math.floor(clock() / 1000) + ORPHAN_SECONDS));
      await putAll(chunks(undefined));
    }
    try {
      await client.send(new PutCommand({ TableName: table, Item: head, ...condition }));
      return true;
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      // The SDK repeats a write whose answer was lost, and the repeat fails on what the first has written.
      if ((await getHead(tenant, id))?.version === version) return true;
      await deleteChunks(tenant, id, head);
      return false;
    }
  };

  return {
    /** Creates a notification. @returns its id */
    async create(tenant: string, attributes: NotificationAttributes): Promise<string> {
      const id = newNotificationId();
      const written = await write(tenant, id, attributes, { ConditionExpression: 'attribute_not_exists(pk)' });
      if (!written) throw new Error('A new id was in use already.');
      return id;
    },

    /** One notification of the tenant, the default one included; undefined where there is none. */
    async get({ tenant, id }: NotificationKey): Promise<VersionedNotification | undefined> {
      if (id === DEFAULT_NOTIFICATION_ID) return { record: defaultNotification, stored: { version: '', chunks: 0 } };
      const head = isStoredNotificationId(id) ? await getHead(tenant, id) : undefined;
      return head && complete(tenant, head);
    },

    /** Replaces a notification if it still has this version. @returns false where it has not */
    async replace({ tenant, id }: NotificationKey, old: Version, attributes: NotificationAttributes): Promise<boolean> {
      const isWritten = await write(tenant, id, attributes, {
        ConditionExpression: 'version = :version',
        ExpressionAttributeValues: { ':version': old.version },
      });
      if (isWritten) await deleteChunks(tenant, id, old);
      return isWritten;
    },

    /** Deletes a notification. @returns false where there was none */
    async delete({ tenant, id }: NotificationKey): Promise<boolean> {
      if (!isStoredNotificationId(id)) return false;
      const { Attributes } = await client.send(
        new DeleteCommand({ TableName: table, Key: { pk: headPartition(tenant), sk: id }, ReturnValues: 'ALL_OLD' }),
      );
      if (!Attributes) return false;
      await deleteChunks(tenant, id, parseHead(Attributes));
      return true;
    },

    /** The tenant's notifications from an id on, in order of their ids, the default one last. Fetched as they are taken. */
    async *list(tenant: string, from: string | null, pageSize: number): AsyncGenerator<NotificationRecord> {
      const start = from?.slice(0, MARKER_LENGTH).toWellFormed();
      let next: Item | undefined;
      do {
        const page = await client.send(
          new QueryCommand({
            TableName: table,
            KeyConditionExpression: start ? 'pk = :pk AND sk >= :start' : 'pk = :pk',
            ExpressionAttributeValues: { ':pk': headPartition(tenant), ...(start && { ':start': start }) },
            ConsistentRead: true,
            Limit: pageSize,
            ...(next && { ExclusiveStartKey: next }),
          }),
        );
        for (const item of page.Items ?? []) {
          const notification = await complete(tenant, parseHead(item));
          if (notification) yield notification.record;
        }
        next = page.LastEvaluatedKey;
      } while (next);
      if (isFrom(DEFAULT_NOTIFICATION_ID, from)) yield defaultNotification;
    },

    /** Those of the ids that are the tenant's notifications, from an id on, in order. Fetched as they are taken. */
    async *listByIds(tenant: string, ids: readonly string[], from: string | null): AsyncGenerator<NotificationRecord> {
      const wanted = [...new Set(ids)].filter((id) => isStoredNotificationId(id) && isFrom(id, from)).sort();
      for (const batch of batches(wanted, IDS_AT_ONCE)) {
        const keys = batch.map((sk) => ({ pk: headPartition(tenant), sk }));
        const heads = (await batchGet(client, table, keys)).map(parseHead);
        for (const head of heads.sort((one, other) => (one.sk < other.sk ? -1 : 1))) {
          const notification = await complete(tenant, head);
          if (notification) yield notification.record;
        }
      }
      if (ids.includes(DEFAULT_NOTIFICATION_ID) && isFrom(DEFAULT_NOTIFICATION_ID, from)) yield defaultNotification;
    },

    /** Starts to read what delivering needs of many notifications, each under its own tenant. */
    targets: (keys: readonly NotificationKey[]): TargetReads => readTargets(client, table, keys),
  };
};

/** Bytewise, as DynamoDB sorts; ids are ASCII, where UTF-16 order is the same. */
const isFrom = (id: string, from: string | null): boolean => from === null || id >= from;

export type { NotificationKey, TargetReads };

/** Where notifications are kept. */
export type NotificationRepository = ReturnType<typeof createNotificationRepository>;
