import * as z from 'zod/mini';
import type { NotificationAttributes, NotificationRecord, StringMap } from '../contracts/notification.ts';
import { isNotificationTypeId, type NotificationTypeId } from '../contracts/notification-types.ts';
import { type DeliveryTarget, ownFields } from '../domain/notification.ts';

/*
 * How a notification lies in its table. A legal one may be 4.5 MB of UTF-8, an item ends at 400 KB (DynamoDB), so:
 *
 *   pk `notification#<tenant>`  sk <id>                      the head: label, type, the type's own fields, version, and the
 *                                                            content itself where it is small enough
 *   pk `chunk#<tenant>`         sk <id>#<version>#<number>   a part of a larger content
 *
 * The content is `details` and `metadata` as JSON in UTF-8 bytes: as bytes it can be cut anywhere, and as JSON a key such
 * as `__proto__` is what it is. The tenant is the end of every partition key, so that no tenant's name can reach into
 * another's partition.
 */

/** The most bytes of content that one item holds; the rest of its 400 KB is for names, label and own fields. */
export const CONTENT_BYTES_PER_ITEM = 350 * 1024;

/** The partition of a tenant's heads. */
export const headPartition = (tenant: string): string => `notification#${tenant}`;

/** The partition of a tenant's chunks. */
export const chunkPartition = (tenant: string): string => `chunk#${tenant}`;

/** What the sort keys of all chunks of one version of a notification start with. */
export const chunkPrefix = (id: string, version: string): string => `${id}#${version}#`;

/** The keys of all chunks of one version of a notification. */
export const chunkKeys = (tenant: string, id: string, version: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    pk: chunkPartition(tenant),
    sk: chunkPrefix(id, version) + String(index).padStart(3, '0'),
  }));

const typeId = z.custom<NotificationTypeId>(isNotificationTypeId);
const bytes = z.instanceof(Uint8Array);

const storedHead = z.object({
  sk: z.string(),
  label: z.string(),
  type: typeId,
  fields: z.record(z.string(), z.string()),
  version: z.string(),
  content: z.optional(bytes),
  chunks: z.number(),
});

/** A head as it is stored: `content` is there unless `chunks` is above 0. */
export type StoredHead = z.infer<typeof storedHead>;

/** Reads a head's item. @throws ZodError where it is not one of ours */
export const parseHead = (item: unknown): StoredHead => storedHead.parse(item);

const projectedTarget = z.pick(storedHead, { sk: true, type: true, fields: true });

/** The attributes that delivering needs: the others are not sent over the network. */
export const TARGET_PROJECTION = {
  ProjectionExpression: 'pk, sk, #type, #fields',
  ExpressionAttributeNames: { '#type': 'type', '#fields': 'fields' },
};

/** Reads a projected target item. @throws ZodError where this version cannot read it */
export const parseTarget = (item: unknown): DeliveryTarget => {
  const { sk, type, fields } = projectedTarget.parse(item);
  return { id: sk, type, details: fields };
};

/** Reads the bytes of one chunk's item. */
export const parseChunk = (item: unknown): Uint8Array => z.object({ content: bytes }).parse(item).content;

/** Epoch seconds at which an orphaned chunk is deleted, or undefined for one that stays. */
type Expiry = number | undefined;

/** The head and chunk items of a notification at a version. Chunks that expire are orphans unless they are written again. */
export const notificationItems = (
  tenant: string,
  id: string,
  version: string,
  { label, type, details, metadata }: NotificationAttributes,
) => {
  const content = Buffer.from(JSON.stringify({ details, metadata }));
  const parts: Buffer[] = [];
  if (content.length > CONTENT_BYTES_PER_ITEM) {
    for (let start = 0; start < content.length; start += CONTENT_BYTES_PER_ITEM) {
      parts.push(content.subarray(start, start + CONTENT_BYTES_PER_ITEM));
    }
  }
  return {
    head: {
      pk: headPartition(tenant),
      sk: id,
      label,
      type,
      fields: ownFields({ type, details }),
      version,
      content: parts.length === 0 ? content : undefined,
      chunks: parts.length,
    },
    chunks: (expires: Expiry) =>
      chunkKeys(tenant, id, version, parts.length).map((key, index) => ({ ...key, content: parts[index], expires })),
  };
};

const isStringMap = (value: unknown): value is StringMap =>
  typeof value === 'object' && value !== null && Object.values(value).every((entry) => typeof entry === 'string');

const storedContent = z.object({
  details: z.custom<StringMap>(isStringMap),
  metadata: z.optional(z.custom<StringMap>(isStringMap)),
});

/** Puts a record together from its head and its content. Nothing but the record's own fields gets out. */
export const recordFrom = (head: StoredHead, content: Uint8Array): NotificationRecord => {
  const { details, metadata } = storedContent.parse(JSON.parse(Buffer.from(content).toString('utf8')));
  return { id: head.sk, label: head.label, type: head.type, details, ...(metadata && { metadata }) };
};
