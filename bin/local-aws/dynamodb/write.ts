import type { Access } from './access-rule.ts';
import { accessOf, type Context } from './context.ts';
import { conditionFailed, itemTooLarge, validationError } from './errors.ts';
import { type Condition, Expressions } from './expressions/expressions.ts';
import { applyUpdate, readUpdate, type Update } from './expressions/update.ts';
import type { Request } from './requests.ts';
import { type Key, keyId, readItemKey, readKey, type StoredItem, type Table } from './table.ts';
import type { Change } from './tables.ts';
import type { Attributes } from './value.ts';
import { itemBytes, MAX_ITEM_BYTES, valueBytes } from './value-size.ts';

/** The write of one item, validated as far as possible without its table. */
export type Write = {
  tableName: string;
  kind: 'put' | 'update' | 'delete' | 'check';
  /** The item to put, or the key. */
  item: Attributes;
  update: Update | undefined;
  condition: Condition | undefined;
  returnsItem: boolean;
  /** The size of the item or the key. */
  itemBytes: number;
  /** The size of all that the request has for this item. */
  requestBytes: number;
};

type Parameters = Omit<Request<'UpdateItem'>, 'Key'> & { Key?: Attributes; Item?: Attributes };

/** @throws DynamoDbError if the write is invalid */
export const readWrite = (kind: Write['kind'], parameters: Parameters): Write => {
  const {
    TableName: tableName,
    Item: item = parameters.Key ?? {},
    ExpressionAttributeValues: values = {},
  } = parameters;
  const { ConditionExpression = '', UpdateExpression = '', ReturnValuesOnConditionCheckFailure } = parameters;
  const expressions = new Expressions(parameters);
  const update = readUpdate(expressions);
  const condition = expressions.condition('ConditionExpression');
  expressions.assertAllUsed();
  const bytes = itemBytes(item);
  if (kind === 'put' && bytes > MAX_ITEM_BYTES) throw itemTooLarge();
  const requestBytes =
    Object.values(values).reduce((sum, value) => sum + valueBytes(value), bytes) +
    Buffer.byteLength(ConditionExpression + UpdateExpression);
  const returnsItem = ReturnValuesOnConditionCheckFailure === 'ALL_OLD';
  return { tableName, kind, item, update, condition, returnsItem, itemBytes: bytes, requestBytes };
};

/** A write with the item that it replaces. */
export type LocatedWrite = { write: Write; table: Table; key: Key; access: Access; before: StoredItem | undefined };

/** Finds the item of a write. @throws DynamoDbError if the table is absent, or the write does not match its key */
export const locate = (context: Context, write: Write): LocatedWrite => {
  const table = context.tables.get(write.tableName);
  const key = write.kind === 'put' ? readItemKey(table, write.item) : readKey(table, write.item);
  return { write, table, key, access: accessOf(context, 'write', table, write.item), before: table.get(key) };
};

/** @throws DynamoDbError if two writes have the same item */
export const assertDistinct = (writes: readonly { table: Table; key: Key }[], message: string): void => {
  const ids = new Set(writes.map(({ table, key }) => keyId(table, key)));
  if (ids.size < writes.length) throw validationError(message);
};

/**
 * Checks the condition of a write, and returns the item after it.
 *
 * @throws DynamoDbError if the item does not permit the write
 */
export const itemAfter = ({ write, table, key, before }: LocatedWrite): StoredItem | undefined => {
  const { kind, condition, item, update, returnsItem } = write;
  if (condition && !condition(before?.item ?? {})) throw conditionFailed(returnsItem ? before?.item : undefined);
  if (kind === 'check') return before;
  if (kind === 'delete') return undefined;
  if (kind === 'put') return { key, item, bytes: write.itemBytes };
  const start = before?.item ?? item;
  if (update) assertKeyUnchanged(table, update);
  const updated = update ? applyUpdate(start, update) : start;
  const bytes = itemBytes(updated);
  if (bytes > MAX_ITEM_BYTES) throw itemTooLarge(true);
  return { key, item: updated, bytes };
};

const assertKeyUnchanged = (table: Table, update: Update): void => {
  const changed = table.keyNames.find((name) => update.has(name));
  if (changed === undefined) return;
  throw validationError(
    `One or more parameter values were invalid: Cannot update attribute ${changed}. This attribute is part of the key`,
  );
};

export const changeOf = ({ table, key }: LocatedWrite, after: StoredItem | undefined): Change =>
  after ? { table, put: after } : { table, delete: key };
