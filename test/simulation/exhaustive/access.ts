import type { AwsCall } from 'local-aws/aws-service.ts';
import { z } from 'zod';

/** What a call reads or writes: items, or all items of a partition, of tables. Sending a message accesses nothing. */
export type Access = { isRead: boolean; items: readonly string[] };

const attributes = z.record(z.string(), z.record(z.string(), z.unknown()));
const single = z.object({
  TableName: z.string().optional(),
  Key: attributes.optional(),
  Item: attributes.optional(),
  ExpressionAttributeValues: attributes.optional(),
});
const write = z.record(z.string(), single);
const request = single.extend({
  RequestItems: z.record(z.string(), z.union([z.array(write), z.object({ Keys: z.array(attributes) })])).optional(),
  TransactItems: z.array(write).optional(),
});

const READS: ReadonlySet<string> = new Set(['GetItem', 'BatchGetItem', 'Query']);

/** Returns the item of a request for one table, or the start of the names of its items if it is a query. */
const itemOf = (table: string, { Key, Item, ExpressionAttributeValues }: z.infer<typeof single>): string => {
  const key = Key ?? Item;
  const [pk, sk] = key ? [key.pk, key.sk] : [ExpressionAttributeValues?.[':pk']];
  return [table.replace(/^[^-]*-/, ''), pk?.S, sk?.S].join(' ');
};

/** Returns what a call reads or writes. */
export const accessOf = ({ service, action, body }: AwsCall): Access => {
  if (service !== 'dynamodb') return { isRead: false, items: [] };
  const { RequestItems = {}, TransactItems = [], ...rest } = request.parse(JSON.parse(body.toString()));
  const ofBatch = Object.entries(RequestItems).flatMap(([table, requests]) =>
    Array.isArray(requests)
      ? requests.flatMap((each) => Object.values(each).map((one) => itemOf(table, one)))
      : requests.Keys.map((Key) => itemOf(table, { Key })),
  );
  const ofTransaction = TransactItems.flatMap((each) =>
    Object.values(each).map((one) => itemOf(one.TableName ?? '', one)),
  );
  const ofSingle = rest.TableName === undefined ? [] : [itemOf(rest.TableName, rest)];
  return { isRead: READS.has(action), items: [...ofBatch, ...ofTransaction, ...ofSingle] };
};

const isSame = (item: string, other: string): boolean => item.startsWith(other) || other.startsWith(item);

/** Returns whether the order of two calls makes a difference. */
export const dependsOn = (access: Access, other: Access): boolean =>
  !(access.isRead && other.isRead) && access.items.some((item) => other.items.some((one) => isSame(item, one)));

/** The accesses of the workers of a case in all paths so far. */
export class SharedAccesses {
  readonly #accesses = new Map<string, { worker: string; access: Access }>();
  /** Changes whenever more is shared. */
  version = 0;

  add(worker: string, access: Access): void {
    const key = JSON.stringify([worker, access]);
    if (this.#accesses.has(key) || access.items.length === 0) return;
    this.#accesses.set(key, { worker, access });
    if (this.isShared(worker, access)) this.version++;
  }

  /** Returns whether another worker may make a call whose order with this one makes a difference. */
  isShared(worker: string, access: Access): boolean {
    return [...this.#accesses.values()].some((other) => other.worker !== worker && dependsOn(access, other.access));
  }
}
