import * as z from 'zod/mini';
import type { NotificationAttributes, NotificationRecord, StringMap } from '../../contracts/notification.ts';
import { isNotificationTypeId, type NotificationTypeId } from '../../contracts/notification-types.ts';
import { type DeliveryTarget, type NotificationKey, typeFields } from '../../domain/notification.ts';
import { itemBytes } from '../dynamodb/item-size.ts';

/*
 * The items of the table Notifications. A valid notification may have 4.5 MB of UTF-8, an item at most 400 KB (AWS limit), so:
 *
 *   pk `notification#<tenant>`  sk <id>                      the target: what delivering needs (type, the type's own fields),
 *                                                            version, and the content itself where the item stays small
 *                                                            Or a tombstone, which expires: `notification-writer.ts`
 *   pk `chunk#<tenant>`         sk <id>#<version>#<number>   a part of a larger content
 *   pk `cleanup#<tenant>`       sk <ULID>                    versions whose chunks may have to be deleted: `chunk-cleanup.ts`
 *   pk `quota#<tenant>`         sk `notifications`           a counter: `notification-counter.ts`
 *
 * The content is label, `details` and `metadata` as JSON in UTF-8 bytes: as bytes it can be cut anywhere, and as JSON it keeps
 * the order of keys, and a key such as `__proto__`. The values of own fields are stored in the target alone; the content holds
 * null in their places. The tenant is the end of every partition key, so that no tenant's name can reach into another's
 * partition.
 */

/** The most bytes of content that one chunk holds; the rest of its 400 KB is for its key. */
export const CHUNK_BYTES = 350 * 1024;

/**
 * A target item with its content stays below this size, in bytes, or the content goes into chunks: dispatch and senders read
 * the whole item whatever they project, and DynamoDB charges a read unit for each 4 KB of it.
 */
export const SMALL_TARGET_BYTES = 8 * 1024;

/** The partition of a tenant's targets. */
export const targetPartition = (tenant: string): string => `notification#${tenant}`;

/** The primary key of a target. */
export const targetKey = ({ tenant, id }: NotificationKey) => ({ pk: targetPartition(tenant), sk: id });

/** The partition of a tenant's chunks. */
export const chunkPartition = (tenant: string): string => `chunk#${tenant}`;

/** A version of a notification, and the number of its chunks. */
export type Version = {
  version: string;
  chunks: number;
  /** True where the SDK sent the put of the create more than once, so that a copy of it may still arrive. */
  create_repeated?: boolean | undefined;
};

/** The keys of all chunks of one version of a notification, in order. */
export const chunkKeys = ({ tenant, id }: NotificationKey, { version, chunks }: Version) =>
  Array.from({ length: chunks }, (_, index) => ({
    pk: chunkPartition(tenant),
    sk: `${id}#${version}#${String(index).padStart(3, '0')}`,
  }));

const bytes = z.instanceof(Uint8Array);

const storedTarget = z.object({
  sk: z.string(),
  type: z.custom<NotificationTypeId>(isNotificationTypeId),
  fields: z.record(z.string(), z.string()),
  version: z.string(),
  content: z.optional(bytes),
  /** The size of the content, in chunks or not, from which reads are planned. */
  content_bytes: z.number(),
  chunks: z.number(),
  create_repeated: z.optional(z.boolean()),
});

/** A target as it is stored: `content` is there unless `chunks` is above 0. */
export type StoredTarget = z.infer<typeof storedTarget>;

/** True for what the delete of a notification whose create was repeated leaves in the place of the target. */
export const isTombstone = (item: Readonly<Record<string, unknown>>): boolean => 'deleted_at_ms' in item;

/** Stays in the place of a target, so that a second copy of the put that created it finds an item. @param expires epoch seconds */
export const tombstone = (key: NotificationKey, deletedAtMs: number, ttl: number) => ({
  ...targetKey(key),
  deleted_at_ms: deletedAtMs,
  ttl,
});

/** Reads a target's item. @throws ZodError where this version cannot read it */
export const parseStoredTarget = (item: unknown): StoredTarget => storedTarget.parse(item);

/** The attributes that delivering needs: the others are not sent over the network. */
export const TARGET_PROJECTION = {
  ProjectionExpression: 'pk, sk, #type, #fields, deleted_at_ms',
  ExpressionAttributeNames: { '#type': 'type', '#fields': 'fields' },
};

const projectedTarget = z.pick(storedTarget, { sk: true, type: true, fields: true });

/** Reads a projected target's item. @throws ZodError where this version cannot read it */
export const parseTarget = (item: unknown): DeliveryTarget => {
  const { sk, type, fields } = projectedTarget.parse(item);
  return { id: sk, type, details: fields };
};

const storedChunk = z.object({ content: bytes });

/** Reads the bytes of one chunk's item; undefined where this version cannot read it. */
export const parseChunk = (item: unknown): Uint8Array | undefined => storedChunk.safeParse(item).data?.content;

/** Cuts a content that is too large for the target. */
const cut = (content: Buffer): Buffer[] =>
  Array.from({ length: Math.ceil(content.length / CHUNK_BYTES) }, (_, index) =>
    content.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES),
  );

/** The target and chunk items of a notification at a version. */
export const notificationItems = (
  key: NotificationKey,
  version: string,
  { label, type, details, metadata }: NotificationAttributes,
) => {
  const fields = typeFields({ type, details });
  const others = Object.entries(details).map(([name, value]) => [name, Object.hasOwn(fields, name) ? null : value]);
  const content = Buffer.from(JSON.stringify({ label, details: Object.fromEntries(others), metadata }));
  const target = { ...targetKey(key), type, fields, version, content_bytes: content.length };
  const small = { ...target, content, chunks: 0 };
  if (itemBytes(small) < SMALL_TARGET_BYTES) return { target: small, chunks: [] };
  const parts = cut(content);
  const keys = chunkKeys(key, { version, chunks: parts.length });
  return {
    target: { ...target, chunks: parts.length },
    chunks: keys.map((chunkKey, index) => ({ ...chunkKey, content: parts[index] })),
  };
};

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const isStringMap = (value: unknown): value is StringMap =>
  isObject(value) && Object.values(value).every((entry) => typeof entry === 'string');

const isDetails = (value: unknown): value is Readonly<Record<string, string | null>> =>
  isObject(value) && Object.values(value).every((entry) => typeof entry === 'string' || entry === null);

const storedContent = z.object({
  label: z.string(),
  details: z.custom<Readonly<Record<string, string | null>>>(isDetails),
  metadata: z.optional(z.custom<StringMap>(isStringMap)),
});

/** The value of an own field, which the target holds. */
const ownField = ({ fields }: StoredTarget, name: string): string => {
  const value = fields[name];
  if (value === undefined) throw new Error(`The target has no field ${name}.`);
  return value;
};

/** Joins a target and its content to a record. @throws Error or ZodError where this version cannot read them */
export const recordFrom = (target: StoredTarget, content: Uint8Array): NotificationRecord => {
  const { label, details, metadata } = storedContent.parse(JSON.parse(Buffer.from(content).toString('utf8')));
  const entries = Object.entries(details).map(([name, value]) => [name, value ?? ownField(target, name)]);
  return {
    id: target.sk,
    label,
    type: target.type,
    details: Object.fromEntries(entries),
    ...(metadata && { metadata }),
  };
};
