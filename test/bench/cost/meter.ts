import * as z from 'zod';
import type { Units } from './prices.ts';

/*
 * The units that AWS charges for a call, from its request: DynamoDB writes per 1 KB, reads per item (none is larger
 * than a unit of 4 KB), SQS requests per 64 KB.
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
export const itemBytes = (item: Record<string, unknown>): number =>
  Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + bytesOf(value), 0);

const KILOBYTE = 1_024;
const writeUnits = (item: Record<string, unknown>): number => Math.ceil(itemBytes(item) / KILOBYTE);
const queueRequests = (...bodies: string[]): number =>
  Math.ceil(bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0) / (64 * KILOBYTE));

const put = z.object({ Item: itemSchema });
const batchWrite = z.object({
  RequestItems: z.record(z.string(), z.array(z.object({ PutRequest: put.optional() }))),
});
const batchGet = z.object({ RequestItems: z.record(z.string(), z.object({ Keys: z.array(z.unknown()) })) });
const message = z.object({ MessageBody: z.string(), MessageGroupId: z.string().optional() });
const messages = z.object({ Entries: z.array(message) });

const sentUnits = (all: z.infer<typeof message>[]): Partial<Units> => ({
  sqsRequests: queueRequests(...all.map(({ MessageBody }) => MessageBody)),
  sqsFairMessages: all.filter(({ MessageGroupId }) => MessageGroupId !== undefined).length,
});

const meters: Record<string, (request: unknown) => Partial<Units>> = {
  PutItem: (request) => ({ dynamoWrites: writeUnits(put.parse(request).Item) }),
  // Records, accounts and counters are smaller than 1 KB.
  UpdateItem: () => ({ dynamoWrites: 1 }),
  DeleteItem: () => ({ dynamoWrites: 1 }),
  BatchWriteItem(request) {
    const writes = Object.values(batchWrite.parse(request).RequestItems).flat();
    const items = writes.flatMap(({ PutRequest }) => (PutRequest ? [PutRequest.Item] : []));
    return {
      dynamoWrites: items.reduce((sum, item) => sum + writeUnits(item), writes.length - items.length),
      recordBytes: items.reduce((sum, item) => sum + itemBytes(item), 0),
    };
  },
  GetItem: () => ({ dynamoReads: 1 }),
  Query: () => ({ dynamoReads: 1 }),
  BatchGetItem: (request) => ({
    dynamoReads: Object.values(batchGet.parse(request).RequestItems).reduce((sum, { Keys }) => sum + Keys.length, 0),
  }),
  SendMessage: (request) => sentUnits([message.parse(request)]),
  SendMessageBatch: (request) => sentUnits(messages.parse(request).Entries),
  ChangeMessageVisibility: () => ({ sqsRequests: 1 }),
  SendEmail: () => ({ emails: 1 }),
};

/** Returns the units of a call. @param request the parsed body, or the form parameters of SES and SNS */
export const meter = (action: string, request: unknown): Partial<Units> => {
  if (action === 'Publish') return z.object({ PhoneNumber: z.string() }).safeParse(request).success ? { sms: 1 } : {};
  return meters[action]?.(request) ?? {};
};
