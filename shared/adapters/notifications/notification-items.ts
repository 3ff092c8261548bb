import * as z from 'zod/mini';
import type { NotificationAttributes } from '../../contracts/notification.ts';
import { typeFields } from '../../contracts/notification-fields.ts';
import type { StringMap } from '../../contracts/text.ts';
import { parseStoredRequest, type SigningSecrets, serializeRequest } from '../../contracts/webhook-request.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import { mutedUntil, type WithheldPeriod } from '../../domain/withheld.ts';
import { zlib } from '../dynamodb/items.ts';
import { projectedTarget, targetKey } from './notification-targets.ts';

/*
 * The items of the table Notifications. A notification may have 4.5 MB of UTF-8, an item at most 400 KB (AWS limit), so
 * the content of a large notification is compressed, and that of a very large one stored in chunks
 * (docs/decisions/storage.md#large-notifications):
 *   pk `notification#<tenant>`  sk <id>                      target: the type and its own fields, which a delivery
 *                                                            needs, the version, the label, and the content unless
 *                                                            it is stored in chunks. Also `ordered`, the signing
 *                                                            secrets of a webhook of its own, the periods in which
 *                                                            it is or was muted, and `webhook_request`, as JSON text,
 *                                                            because JSON keeps the digits of numbers
 *   pk `chunk#<tenant>`         sk <id>#<version>#<number>   chunk of a compressed content
 *   pk `quota#<tenant>`         sk `notifications`           counter (`notification-counter.ts`)
 *   pk `idempotency#<tenant>`   sk <hash>                    `idempotencyItem`
 * The content is `details` and `metadata` as JSON in UTF-8. Bytes can be split anywhere, and JSON keeps the
 * order of keys and keys such as `__proto__`. Values of the type's own fields are stored in the target only; the
 * content has null instead. The tenant is the last part of every partition key, so that no tenant name can produce the
 * key of another tenant's partition.
 */

/** The maximum size of the content in a chunk. The rest of the 400 KB item is for the key. */
const CHUNK_BYTES = 350 * 1024;

/** A larger target stores its content compressed: DynamoDB charges a read unit per 4 KB of the whole item. */
const SMALL_TARGET_BYTES = 8 * 1024;

/** A target item that would exceed this size with its compressed content stores it in chunks. */
const MAX_TARGET_BYTES = 300 * 1024;

export const chunkPartition = (tenant: string): string => `chunk#${tenant}`;

export type Version = { version: string; chunks: number };

export const chunkKeys = ({ tenant, id }: NotificationKey, { version, chunks }: Version) =>
  Array.from({ length: chunks }, (_, index) => ({
    pk: chunkPartition(tenant),
    sk: `${id}#${version}#${String(index).padStart(3, '0')}`,
  }));

const bytes = z.instanceof(Uint8Array);

const storedTarget = z.object({
  ...projectedTarget.shape,
  version: z.string(),
  content: z.optional(bytes),
  /** The size of the content before compression. */
  content_bytes: z.number(),
  /** The compression of the content: none, or DEFLATE (RFC 1951). */
  compression: z.optional(z.literal('deflate')),
  chunks: z.number(),
});

/** A stored target. `content` is present if `chunks` is 0. */
export type StoredTarget = z.infer<typeof storedTarget>;

export const parseStoredTarget = (item: unknown): StoredTarget => storedTarget.parse(item);

const storedChunk = z.object({ content: bytes });

/** Returns the content of a chunk, or undefined if the item is not a valid chunk. */
export const parseChunk = (item: unknown): Uint8Array | undefined => storedChunk.safeParse(item).data?.content;

/** Returns at least the size of a target that DynamoDB bills and limits: as JSON, it has also quotes and separators. */
const maxTargetBytes = (target: object, content: Uint8Array): number =>
  Buffer.byteLength(JSON.stringify(target)) + content.length;

const splitBytes = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );

export const notificationItems = (
  key: NotificationKey,
  version: string,
  { label, type, details, metadata, webhook_request, ordered }: NotificationAttributes,
  ownSecrets?: SigningSecrets,
  mutes: readonly WithheldPeriod[] = [],
) => {
  const fields = typeFields({ type, details });
  const contentDetails = Object.entries(details).map(([name, value]) => [
    name,
    Object.hasOwn(fields, name) ? null : value,
  ]);
  const content = Buffer.from(JSON.stringify({ details: Object.fromEntries(contentDetails), metadata }));
  const target = {
    ...targetKey(key),
    type,
    fields,
    label,
    version,
    content_bytes: content.length,
    webhook_request: serializeRequest(webhook_request),
    ordered,
    signing_secrets: type === 'webhook' ? ownSecrets : undefined,
    mutes: mutes.length > 0 ? mutes : undefined,
  };
  const plain = { ...target, chunks: 0 };
  if (maxTargetBytes(plain, content) < SMALL_TARGET_BYTES) return { target: { ...plain, content }, chunks: [] };
  const compressed = zlib().deflateRawSync(content);
  const large = { ...target, compression: 'deflate' };
  if (maxTargetBytes(large, compressed) <= MAX_TARGET_BYTES) {
    return { target: { ...large, content: compressed, chunks: 0 }, chunks: [] };
  }
  const contents = splitBytes(compressed, CHUNK_BYTES);
  const keys = chunkKeys(key, { version, chunks: contents.length });
  return {
    target: { ...large, chunks: contents.length },
    chunks: keys.map((chunkKey, index) => ({ ...chunkKey, content: contents[index] })),
  };
};

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const isStringMap = (value: unknown): value is StringMap =>
  isObject(value) && Object.values(value).every((entry) => typeof entry === 'string');

const isDetails = (value: unknown): value is Readonly<Record<string, string | null>> =>
  isObject(value) && Object.values(value).every((entry) => typeof entry === 'string' || entry === null);

const storedContent = z.object({
  details: z.custom<Readonly<Record<string, string | null>>>(isDetails),
  metadata: z.optional(z.custom<StringMap>(isStringMap)),
});

const ownField = ({ fields }: StoredTarget, name: string): string => {
  const value = fields[name];
  if (value === undefined) throw new Error(`The target has no field ${name}.`);
  return value;
};

/** Returns the content as JSON. @throws RangeError if it is larger than the target states */
const contentText = ({ compression, content_bytes }: StoredTarget, stored: Uint8Array): string => {
  const content =
    compression === undefined ? stored : zlib().inflateRawSync(stored, { maxOutputLength: content_bytes });
  return Buffer.from(content).toString('utf8');
};

/** @throws Error or ZodError if the content is invalid or a field is missing */
export const attributesFrom = (target: StoredTarget, content: Uint8Array, nowMs: number): NotificationAttributes => {
  const { details, metadata } = storedContent.parse(JSON.parse(contentText(target, content)));
  const entries = Object.entries(details).map(([name, value]) => [name, value ?? ownField(target, name)]);
  const muted_until = mutedUntil(target.mutes, nowMs);
  return {
    label: target.label,
    type: target.type,
    details: Object.fromEntries(entries),
    ...(metadata && { metadata }),
    ...(target.webhook_request !== undefined && { webhook_request: parseStoredRequest(target.webhook_request) }),
    ...(target.ordered && { ordered: true }),
    ...(muted_until !== undefined && { muted_until }),
  };
};
