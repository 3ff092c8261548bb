import * as z from 'zod/mini';
import type { NotificationAttributes, NotificationRecord, StringMap } from '../../contracts/notification.ts';
import { isNotificationTypeId, type NotificationTypeId } from '../../contracts/notification-types.ts';
import { type DeliveryTarget, type NotificationKey, typeFields } from '../../domain/notification.ts';
import { itemBytes } from '../dynamodb/item-size.ts';

/*
 * The items of the table Notifications. A notification may have 4.5 MB of UTF-8, an item at most 400 KB (AWS limit), so
 * a large notification is stored as a target and chunks (docs/decisions/storage.md#large-notifications):
 *
 *   pk `notification#<tenant>`  sk <id>                      target: the type and its own fields, which a delivery
 *                                                            needs, the version, and the content if the item stays
 *                                                            small; or a tombstone, which expires
 *                                                            (`notification-writer.ts`)
 *   pk `chunk#<tenant>`         sk <id>#<version>#<number>   chunk of a large content
 *   pk `cleanup#<tenant>`       sk <ULID>                    versions whose chunks may have to be deleted
 *                                                            (`chunk-cleanup.ts`)
 *   pk `quota#<tenant>`         sk `notifications`           counter (`notification-counter.ts`)
 *
 * The content is `label`, `details` and `metadata` as JSON in UTF-8. Bytes can be split anywhere, and JSON keeps the
 * order of keys and keys such as `__proto__`. Values of the type's own fields are stored in the target only; the
 * content has null instead. The tenant is the last part of every partition key, so that no tenant name can produce the
 * key of another tenant's partition.
 */

/** The maximum size of the content in a chunk. The rest of the 400 KB item is for the key. */
export const CHUNK_BYTES = 350 * 1024;

/**
 * A target item that would reach this size stores its content in chunks. DynamoDB charges a read unit per 4 KB of the
 * whole item, regardless of the attributes that dispatch and senders project.
 */
export const SMALL_TARGET_BYTES = 8 * 1024;

/** Returns the partition key of a tenant's targets. */
export const targetPartition = (tenant: string): string => `notification#${tenant}`;

/** Returns the primary key of a target. */
export const targetKey = ({ tenant, id }: NotificationKey) => ({ pk: targetPartition(tenant), sk: id });

/** Returns the partition key of a tenant's chunks. */
export const chunkPartition = (tenant: string): string => `chunk#${tenant}`;

/** A version of a notification, and the number of its chunks. */
export type Version = {
  version: string;
  chunks: number;
  /** True if the SDK repeated the put that created the notification, so that a copy of it may still arrive. */
  create_repeated?: boolean | undefined;
};

/** Returns the keys of all chunks of a version, in order. */
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
  /** The size of the content, in the target or in chunks. Reads are grouped by it. */
  content_bytes: z.number(),
  chunks: z.number(),
  create_repeated: z.optional(z.boolean()),
});

/** A stored target. `content` is present if `chunks` is 0. */
export type StoredTarget = z.infer<typeof storedTarget>;

/** Returns whether an item is a tombstone. */
export const isTombstone = (item: Readonly<Record<string, unknown>>): boolean => 'deleted_at_ms' in item;

/**
 * Returns the item that replaces a deleted target, so that a late copy of the put that created it fails its condition.
 *
 * @param ttl epoch seconds
 */
export const tombstone = (key: NotificationKey, deletedAtMs: number, ttl: number) => ({
  ...targetKey(key),
  deleted_at_ms: deletedAtMs,
  ttl,
});

/** Parses the item of a target. @throws ZodError */
export const parseStoredTarget = (item: unknown): StoredTarget => storedTarget.parse(item);

/** The attributes that a delivery needs. */
export const TARGET_PROJECTION = {
  ProjectionExpression: 'pk, sk, #type, #fields, deleted_at_ms',
  ExpressionAttributeNames: { '#type': 'type', '#fields': 'fields' },
};

const projectedTarget = z.pick(storedTarget, { sk: true, type: true, fields: true });

/** Parses a projected target. @throws ZodError */
export const parseTarget = (item: unknown): DeliveryTarget => {
  const { sk, type, fields } = projectedTarget.parse(item);
  return { id: sk, type, details: fields };
};

const storedChunk = z.object({ content: bytes });

/** Returns the content of a chunk, or undefined if the item is not a valid chunk. */
export const parseChunk = (item: unknown): Uint8Array | undefined => storedChunk.safeParse(item).data?.content;

/** Splits the content into chunks. */
const splitContent = (content: Buffer): Buffer[] =>
  Array.from({ length: Math.ceil(content.length / CHUNK_BYTES) }, (_, index) =>
    content.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES),
  );

/** Returns the target and chunk items of a version of a notification. */
export const notificationItems = (
  key: NotificationKey,
  version: string,
  { label, type, details, metadata }: NotificationAttributes,
) => {
  const fields = typeFields({ type, details });
  const contentDetails = Object.entries(details).map(([name, value]) => [
    name,
    Object.hasOwn(fields, name) ? null : value,
  ]);
  const content = Buffer.from(JSON.stringify({ label, details: Object.fromEntries(contentDetails), metadata }));
  const target = { ...targetKey(key), type, fields, version, content_bytes: content.length };
  const smallTarget = { ...target, content, chunks: 0 };
  if (itemBytes(smallTarget) < SMALL_TARGET_BYTES) return { target: smallTarget, chunks: [] };
  const contents = splitContent(content);
  const keys = chunkKeys(key, { version, chunks: contents.length });
  return {
    target: { ...target, chunks: contents.length },
    chunks: keys.map((chunkKey, index) => ({ ...chunkKey, content: contents[index] })),
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

/** Returns the value of one of the type's own fields from the target. */
const ownField = ({ fields }: StoredTarget, name: string): string => {
  const value = fields[name];
  if (value === undefined) throw new Error(`The target has no field ${name}.`);
  return value;
};

/** Joins a target and its content. @throws Error or ZodError if the content is invalid or a field is missing */
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
