import * as z from 'zod';
import type { Usage } from '../../../bin/cost/units.ts';

/*
 * The units that AWS charges for a call: DynamoDB writes per 1 KB, reads per 4 KB of an item and half without strong
 * consistency, SQS requests per 64 KB.
 */

const itemSchema = z.record(z.string(), z.unknown());
const attribute = z.union([
  z.object({ S: z.string() }).transform(({ S }) => Buffer.byteLength(S)),
  z.object({ N: z.string() }).transform(({ N }) => Math.ceil(N.length / 2) + 1),
  z.object({ B: z.string() }).transform(({ B }) => Buffer.byteLength(B, 'base64')),
  z
    .object({ L: z.array(z.unknown()) })
    .transform(({ L }) => 3 + L.reduce<number>((sum, element) => sum + 1 + bytesOf(element), 0)),
  z.object({ M: itemSchema }).transform(({ M }) => 3 + itemBytes(M)),
]);

/** Returns the size of a value as DynamoDB counts it. A boolean or null is one byte. */
const bytesOf = (value: unknown): number => {
  const parsed = attribute.safeParse(value);
  return parsed.success ? parsed.data : 1;
};

/** Returns the size of an item in DynamoDB JSON (Amazon DynamoDB developer guide, "Item sizes and formats"). */
const itemBytes = (item: Record<string, unknown>): number =>
  Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + bytesOf(value), 0);

const KILOBYTE = 1_024;
const READ_BYTES = 4 * KILOBYTE;
const writeUnits = (item: Record<string, unknown>): number => Math.ceil(itemBytes(item) / KILOBYTE);

/** Returns the units of reading this many bytes, at least one unit, whether or not there is an item. */
const readUnits = (bytes: number, isConsistent: boolean): number =>
  Math.max(1, Math.ceil(bytes / READ_BYTES)) * (isConsistent ? 1 : 0.5);

const batchReadUnits = (request: unknown, response: unknown): number => {
  const { Responses } = batchGetOutput.parse(response);
  return Object.entries(batchGet.parse(request).RequestItems).reduce((sum, [table, { Keys, ConsistentRead }]) => {
    const items = Responses[table] ?? [];
    const missing = Keys.length - items.length;
    const units = items.reduce((itemSum, item) => itemSum + readUnits(itemBytes(item), ConsistentRead), 0);
    return sum + units + missing * readUnits(0, ConsistentRead);
  }, 0);
};

const queueRequests = (...bodies: string[]): number =>
  Math.ceil(bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0) / (64 * KILOBYTE));

const put = z.object({ Item: itemSchema });
const batchWrite = z.object({
  RequestItems: z.record(z.string(), z.array(z.object({ PutRequest: put.optional() }))),
});
const batchGet = z.object({
  RequestItems: z.record(
    z.string(),
    z.object({ Keys: z.array(z.unknown()), ConsistentRead: z.boolean().default(false) }),
  ),
});
const batchGetOutput = z.object({ Responses: z.record(z.string(), z.array(itemSchema)).default({}) });
const singleRead = z.object({ ConsistentRead: z.boolean().default(false) });
const itemOutput = z.object({ Item: itemSchema.optional() });
const itemsOutput = z.object({ Items: z.array(itemSchema).default([]) });
const message = z.object({ MessageBody: z.string(), MessageGroupId: z.string().optional() });
const messages = z.object({ Entries: z.array(message) });

const sentUnits = (all: z.infer<typeof message>[]): Usage => ({
  sqsRequests: queueRequests(...all.map(({ MessageBody }) => MessageBody)),
  sqsFairMessages: all.filter(({ MessageGroupId }) => MessageGroupId !== undefined).length,
});

const meters: Record<string, (request: unknown, response: unknown) => Usage> = {
  PutItem: (request) => ({ dynamoWrites: writeUnits(put.parse(request).Item) }),
  // Records, accounts and counters are smaller than 1 KB.
  UpdateItem: () => ({ dynamoWrites: 1 }),
  DeleteItem: () => ({ dynamoWrites: 1 }),
  BatchWriteItem(request) {
    const writes = Object.values(batchWrite.parse(request).RequestItems).flat();
    const items = writes.flatMap(({ PutRequest }) => (PutRequest ? [PutRequest.Item] : []));
    return {
      dynamoWrites: items.reduce((sum, item) => sum + writeUnits(item), writes.length - items.length),
    };
  },
  GetItem: (request, response) => ({
    dynamoReads: readUnits(itemBytes(itemOutput.parse(response).Item ?? {}), singleRead.parse(request).ConsistentRead),
  }),
  // A query is charged for the sum of its items.
  Query: (request, response) => ({
    dynamoReads: readUnits(
      itemsOutput.parse(response).Items.reduce((sum, item) => sum + itemBytes(item), 0),
      singleRead.parse(request).ConsistentRead,
    ),
  }),
  BatchGetItem: (request, response) => ({ dynamoReads: batchReadUnits(request, response) }),
  SendMessage: (request) => sentUnits([message.parse(request)]),
  SendMessageBatch: (request) => sentUnits(messages.parse(request).Entries),
  ChangeMessageVisibility: () => ({ sqsRequests: 1 }),
  SendRawEmail: () => ({ emails: 1 }),
};

/**
 * Returns the units of a call.
 *
 * @param request the parsed body, or the form parameters of SES and SNS
 * @param response the parsed body; without one, no read item is larger than a read unit
 */
export const meter = (action: string, request: unknown, response: unknown = {}): Usage => {
  if (action === 'Publish') return z.object({ PhoneNumber: z.string() }).safeParse(request).success ? { sms: 1 } : {};
  return meters[action]?.(request, response) ?? {};
};
