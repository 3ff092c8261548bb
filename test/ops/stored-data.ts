import { PutCommand, paginateScan } from '@aws-sdk/lib-dynamodb';
import type { FaultyStack } from '../faults/support.ts';

/** An item of a table. */
type StoredItem = { table: string; item: Record<string, unknown> };

/** A message in a queue. */
type StoredMessage = {
  queue: string;
  body: string;
  group?: string | undefined;
  attributes: Record<string, { dataType: string; value: string }>;
  /** The name of the queue from which SQS moved the message. */
  source?: string | undefined;
};

/** Everything that a stack stores. */
export type StoredData = { items: StoredItem[]; messages: StoredMessage[] };

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
      senderId: 'test',
    });
    const added = named(queue).messages.find((found) => found.id === id);
    if (source !== undefined && added) added.deadLetterQueueSourceArn = named(source).settings.arn;
  }
};
