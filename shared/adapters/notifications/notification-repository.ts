import { createHash } from 'node:crypto';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import type { NotificationAttributes } from '../../contracts/notification.ts';
import type { SigningSecrets } from '../../contracts/webhook-request.ts';
import { changedAttributes } from '../../domain/audit.ts';
import { idempotencyKeyReused, notificationLimitReached, unavailable } from '../../domain/errors.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import { createNotificationIds, isStoredNotificationId } from '../../domain/notification-id.ts';
import { type Clock, DAY_SECONDS } from '../../domain/time.ts';
import { ulid } from '../../domain/ulid.ts';
import { mutesAfter } from '../../domain/withheld.ts';
import type { Audit } from '../audits/audit-log.ts';
import { batchWrite } from '../dynamodb/batches.ts';
import { getItem, type Item } from '../dynamodb/items.ts';
import { type TransactItem, transact } from '../dynamodb/transactions.ts';
import { errorTrace, logger } from '../logger.ts';
import { counterItem, readNotificationCount } from './notification-counter.ts';
import { chunkKeys, notificationItems, type StoredTarget, type Version } from './notification-items.ts';
import { createNotificationReader, type VersionedNotification } from './notification-reader.ts';
import { createTargetReader, type TargetReads, targetKey } from './notification-targets.ts';

/*
 * The first response of each `Idempotency-Key` (table Notifications, docs/decisions/storage.md#idempotency-keys): pk
 * `idempotency#<tenant>`, sk <hash of the key>. The hash of the body includes the key, which nothing stores.
 */

export type IdempotentRequest = { key: string; body: string };

const stored = z.object({ notification_id: z.string(), request_hash: z.string(), ttl: z.number() });

const sha256 = (...values: string[]): string => createHash('sha256').update(JSON.stringify(values)).digest('base64url');

const itemKey = (tenant: string, { key }: IdempotentRequest) => ({ pk: `idempotency#${tenant}`, sk: sha256(key) });

const requestHash = ({ key, body }: IdempotentRequest): string => sha256(key, body);

/** Stores the key for 24 hours unless it is stored. TTL deletes items late, so an expired one is replaced. */
export const idempotencyItem = (
  table: string,
  { tenant, id }: NotificationKey,
  request: IdempotentRequest,
  nowMs: number,
): TransactItem => {
  const nowSeconds = Math.floor(nowMs / 1000);
  return {
    Put: {
      TableName: table,
      Item: {
        ...itemKey(tenant, request),
        notification_id: id,
        request_hash: requestHash(request),
        ttl: nowSeconds + DAY_SECONDS,
      },
      ConditionExpression: 'attribute_not_exists(pk) OR #ttl <= :now',
      ExpressionAttributeNames: { '#ttl': 'ttl' },
      ExpressionAttributeValues: { ':now': nowSeconds },
    },
  };
};

/** Returns the ID that the first request with this key created. @throws ServiceError idempotencyKeyReused */
export const findCreated = async (
  client: DynamoDBDocumentClient,
  table: string,
  tenant: string,
  request: IdempotentRequest,
  nowMs: number,
): Promise<string | undefined> => {
  const item = await getItem(client, table, itemKey(tenant, request));
  if (!item) return undefined;
  const { notification_id: id, request_hash, ttl } = stored.parse(item);
  if (ttl <= Math.floor(nowMs / 1000)) return undefined;
  if (request_hash !== requestHash(request)) throw idempotencyKeyReused();
  return id;
};

/** The maximum number of attempts to delete a notification that other requests replace concurrently. */
const MAX_DELETE_ATTEMPTS = 10;
/** About 8 s in total: 4.5 MB need 5 s of a partition's 1,000 write units per second (AWS limit). */
const MAX_CHUNK_ATTEMPTS = 14;

/** A limit, or the function that reads it. A promise would reject unhandled if an earlier step failed. */
type GivenLimit = number | (() => Promise<number>);

type NewNotification = {
  attributes: NotificationAttributes;
  audit: Audit;
  limit?: GivenLimit | undefined;
  /** Identifies the request: if it is repeated within 24 hours, nothing is created. */
  request?: IdempotentRequest | undefined;
};

/** A version to write, on a condition about the target, which has the version `old`, if any. */
type NewVersion<Others> = {
  key: NotificationKey;
  attributes: NotificationAttributes;
  condition: Condition;
  old?: Version & Pick<StoredTarget, 'mutes'>;
  others: Others;
  signingSecrets?: SigningSecrets | undefined;
};

/** A replacement of a version. `entry` records it; the own secrets of a webhook are by default as before. */
type Replacement = Pick<NewVersion<unknown>, 'key' | 'attributes' | 'signingSecrets'> & {
  old: VersionedNotification['stored'];
  entry: TransactItem;
};

type Condition = { ConditionExpression: string; ExpressionAttributeValues?: Item };

const isUnchanged = ({ version }: Item): Condition =>
  version === undefined
    ? { ConditionExpression: 'attribute_exists(pk) AND attribute_not_exists(version)' }
    : { ConditionExpression: 'version = :version', ExpressionAttributeValues: { ':version': version } };

const versionOf = z.object({ version: z.string(), chunks: z.number() });

/**
 * What only reads uses `createNotificationReader` or `createTargetReader`: its bundle then has no writes. Each of these
 * is one transaction with the counter of the tenant, so copies of its requests have no effect. Chunks are written
 * before and deleted after it, and versions are never reused (docs/decisions/storage.md#large-notifications).
 */
export const createNotificationRepository = (
  client: DynamoDBDocumentClient,
  table: string,
  clock: Clock = Date.now,
) => {
  /** Returns the version attributes of a target, unparsed, or undefined if the notification does not exist. */
  const readVersion = (key: NotificationKey): Promise<Item | undefined> =>
    getItem(client, table, targetKey(key), { ProjectionExpression: 'version, chunks' });

  /** Deletes the chunks of an obsolete version. Never rejects: chunks that no target names are deleted with their tenant. */
  const deleteChunks = async (key: NotificationKey, version: Version): Promise<void> => {
    const requests = chunkKeys(key, version).map((Key) => ({ DeleteRequest: { Key } }));
    await batchWrite(client, table, requests, MAX_CHUNK_ATTEMPTS).catch((error: unknown) =>
      logger.warn('chunks not deleted', { notification_id: key.id, chunks: version.chunks, ...errorTrace(error) }),
    );
  };

  /** Writes its chunks, then the target with other items in a transaction. @returns the names of failed conditions */
  const write = async <Others extends Readonly<Record<string, TransactItem | undefined>>>({
    key,
    attributes,
    condition,
    old,
    others,
    signingSecrets,
  }: NewVersion<Others>): Promise<('target' | keyof Others)[]> => {
    const nowMs = clock();
    const version = ulid(nowMs);
    const mutes = mutesAfter(old?.mutes ?? [], attributes.muted_until, nowMs);
    const { target, chunks } = notificationItems(key, version, attributes, signingSecrets, mutes);
    const written = { version, chunks: chunks.length };
    const puts = chunks.map((Item) => ({ PutRequest: { Item } }));
    await batchWrite(client, table, puts, MAX_CHUNK_ATTEMPTS);

    const failed = await transact(client, {
      target: { Put: { TableName: table, Item: target, ...condition } },
      ...others,
    });
    const obsolete = failed.length > 0 ? written : old;
    if (obsolete) await deleteChunks(key, obsolete);
    return failed;
  };

  /** Deletes a version of a notification, even an unreadable one. @returns false if the notification has changed */
  const deleteVersion = async (key: NotificationKey, target: Item, audit: Audit): Promise<boolean> => {
    const { data: stored } = versionOf.safeParse(target);
    const deletion = { Delete: { TableName: table, Key: targetKey(key), ...isUnchanged(target) } };
    const entry = audit({ action: 'delete-notification', target_id: key.id });
    const failed = await transact(client, { deletion, counter: counterItem(table, key.tenant, -1), entry });
    if (failed.length > 0) return false;
    if (stored) await deleteChunks(key, stored);
    return true;
  };

  /** Returns the limit. @throws ServiceError forbiddenError if the tenant is at it */
  const readLimit = async (tenant: string, given: GivenLimit): Promise<number> => {
    const limitOf = typeof given === 'number' ? given : given();
    const [limit, used] = await Promise.all([limitOf, readNotificationCount(client, table, tenant)]);
    if (used >= limit) throw notificationLimitReached(limit);
    return limit;
  };

  const createWithId = async ({
    key,
    attributes,
    audit,
    limit: givenLimit,
    request,
  }: NewNotification & { key: NotificationKey }): Promise<boolean> => {
    // A refused create would consume the capacity of the transaction, and conflict with others.
    const limit = givenLimit === undefined ? undefined : await readLimit(key.tenant, givenLimit);
    const condition = { ConditionExpression: 'attribute_not_exists(pk)' };
    const others = {
      counter: counterItem(table, key.tenant, 1, limit),
      entry: audit({ action: 'create-notification', target_id: key.id, changed: changedAttributes({}, attributes) }),
      request: request && idempotencyItem(table, key, request, clock()),
    };
    const failed = await write({ key, attributes, condition, others });
    if (failed.includes('target') || failed.includes('request')) return false;
    if (limit !== undefined && failed.includes('counter')) throw notificationLimitReached(limit);
    return true;
  };

  const newId = createNotificationIds();

  return {
    ...createNotificationReader(client, table, clock),
    ...createTargetReader(client, table),

    /** Returns the new ID, or that of the first request. @throws ServiceError forbiddenError, idempotencyKeyReused */
    async create({ tenant, ...notification }: NewNotification & { tenant: string }): Promise<string> {
      const { request } = notification;
      const createNew = async (): Promise<string> => {
        const id = newId();
        if (await createWithId({ key: { tenant, id }, ...notification })) return id;
        throw new Error('The ID of the notification or the idempotency key exists.');
      };
      if (!request) return createNew();
      const findFirst = () => findCreated(client, table, tenant, request, clock());
      const first = await findFirst();
      if (first !== undefined) return first;
      try {
        return await createNew();
      } catch (error) {
        // A concurrent request with the key, or this one if its outcome was unknown, may have created the notification.
        const created = await findFirst();
        if (created !== undefined) return created;
        throw error;
      }
    },

    /** Creates a notification with a given ID, under the rules of `create`. @returns false if the ID exists */
    createWithId,

    /** Replaces a notification if its version is `old`. @returns false if it has changed */
    async replace({ entry, signingSecrets, ...version }: Replacement): Promise<boolean> {
      const { old } = version;
      const secrets = signingSecrets ?? old.signing_secrets;
      const written = { ...version, condition: isUnchanged(old), others: { entry }, signingSecrets: secrets };
      return (await write(written)).length === 0;
    },

    async delete(key: NotificationKey, audit: Audit): Promise<boolean> {
      if (!isStoredNotificationId(key.id)) return false;
      for (let attempt = 0; attempt < MAX_DELETE_ATTEMPTS; attempt++) {
        const target = await readVersion(key);
        if (!target) return attempt > 0;
        if (await deleteVersion(key, target, audit)) return true;
      }
      throw unavailable();
    },
  };
};

export type { NotificationKey, TargetReads, VersionedNotification };

export type NotificationRepository = ReturnType<typeof createNotificationRepository>;
