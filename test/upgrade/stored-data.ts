import { PutCommand, paginateScan } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import type { FaultyStack } from '../faults/support.ts';

const item = z.record(z.string(), z.unknown());

const message = z.object({
  queue: z.string(),
  body: z.string(),
  group: z.string().optional(),
  attributes: z.record(z.string(), z.object({ dataType: z.string(), value: z.string() })),
  /** The name of the queue from which SQS moved the message. */
  source: z.string().optional(),
});

/** An item of a table. */
export type StoredItem = { table: string; item: z.infer<typeof item> };

/** A message in a queue. */
export type StoredMessage = z.infer<typeof message>;

/** Everything that a stack stores. */
export type StoredData = { items: StoredItem[]; messages: StoredMessage[] };

const bytesJson = (bytes: Uint8Array) => {
  const text = Buffer.from(bytes).toString('utf8');
  return Buffer.from(text).equals(bytes) ? { $utf8: text } : { $base64: Buffer.from(bytes).toString('base64') };
};

/** Writes bytes as text if possible, so that a recording can be read. */
const encode = (_: string, value: unknown): unknown => {
  if (value instanceof Uint8Array) return bytesJson(value);
  return value instanceof Set ? { $set: [...value] } : value;
};

const encoded = z.union([
  z.strictObject({ $utf8: z.string() }).transform(({ $utf8 }) => Buffer.from($utf8)),
  z.strictObject({ $base64: z.string() }).transform(({ $base64 }) => Buffer.from($base64, 'base64')),
  z.strictObject({ $set: z.array(z.string()) }).transform(({ $set }) => new Set($set)),
]);

const decode = (_: string, value: unknown): unknown => encoded.safeParse(value).data ?? value;

/** Returns one line of JSON for each value. */
export const toLines = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value, encode)}\n`).join('');

const fromLines = <Line>(text: string, schema: z.ZodType<Line>): Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => schema.parse(JSON.parse(line, decode)));

/** Parses the items and messages of a recording. */
export const parseStoredData = (items: string, messages: string): StoredData => ({
  items: fromLines(items, z.object({ table: z.string(), item })),
  messages: fromLines(messages, message),
});

/** Returns everything that a stack stores, in a stable order. */
export const storedData = async ({ stack, documents }: FaultyStack): Promise<StoredData> => {
  const items: StoredItem[] = [];
  for (const { name: table } of stack.plan.tables) {
    for await (const { Items = [] } of paginateScan(
      { client: documents },
      { TableName: table, ConsistentRead: true },
    )) {
      items.push(...Items.map((found) => ({ table, item: found })));
    }
  }
  const messages = [...stack.queues.values()].flatMap((queue) =>
    queue.messages.map(
      ({ body, groupId: group, attributes, deadLetterQueueSourceArn: source }): StoredMessage => ({
        queue: queue.settings.name,
        body,
        group,
        attributes: Object.fromEntries(
          [...attributes].map(([name, { dataType, value }]) => [name, { dataType, value: String(value) }]),
        ),
        source: source?.split(':').at(-1),
      }),
    ),
  );
  const keyOf = ({ table, item: { pk, sk } }: StoredItem) => `${table} ${pk} ${sk}`;
  return {
    items: items.toSorted((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1)),
    messages: messages.toSorted((left, right) => (left.queue < right.queue ? -1 : 1)),
  };
};

/** Stores items in the tables of a stack. */
export const loadItems = async ({ documents }: FaultyStack, items: readonly StoredItem[]): Promise<void> => {
  for (const { table: TableName, item: Item } of items) await documents.send(new PutCommand({ TableName, Item }));
};

/** Adds messages to the queues of a stack. A message that SQS moved keeps its source. */
export const loadMessages = ({ stack }: FaultyStack, messages: readonly StoredMessage[]): void => {
  const named = (name: string) => {
    const queue = stack.queues.get(name);
    if (!queue) throw new Error(`The stack has no queue ${name}.`);
    return queue;
  };
  for (const { queue, body, group: groupId, attributes, source } of messages) {
    const id = named(queue).send({
      body,
      groupId,
      attributes: new Map(Object.entries(attributes)),
      senderId: 'recording',
    });
    const added = named(queue).messages.find((found) => found.id === id);
    if (source !== undefined && added) added.deadLetterQueueSourceArn = named(source).settings.arn;
  }
};
