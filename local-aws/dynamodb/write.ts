import type { Context } from './context.ts';
import { conditionFailed, itemTooLarge, validationError } from './errors.ts';
import { type Condition, readCondition } from './expressions/condition.ts';
import type { Path } from './expressions/lexer.ts';
import { Scope } from './expressions/scope.ts';
import { applyUpdate, readUpdate, type Update } from './expressions/update.ts';
import type { Request } from './requests.ts';
import { type Key, readItemKey, readKey, type StoredItem, type Table } from './table.ts';
import type { Change } from './tables.ts';
import type { Attributes } from './value.ts';
import { itemBytes, MAX_ITEM_BYTES, valueBytes } from './value-size.ts';

/** What a write does, apart from its condition. */
type Effect = { put: Attributes } | { update: Update | undefined } | 'delete' | 'check';

/** The write of one item, validated as far as possible without its table. */
export type Write = {
  tableName: string;
  /** The item to put, or the key. */
  item: Attributes;
  effect: Effect;
  condition: Condition | undefined;
  /** The attributes of nested paths, which cannot be keys. */
  nested: ReadonlySet<string>;
  /** Whether a failed condition returns the item. */
  returnsItem: boolean;
  /** The size of the item or the key. */
  itemBytes: number;
  /** The size of the values and expressions of the request. */
  expressionBytes: number;
};

type Conditional = Omit<Request<'DeleteItem'>, 'Key'>;

/** @throws DynamoDbError if the write is invalid */
export const readPut = (request: Pick<Request<'PutItem'>, 'Item'> & Conditional): Write => {
  const write = readWrite(request, request.Item, { put: request.Item });
  if (write.itemBytes > MAX_ITEM_BYTES) throw itemTooLarge();
  return write;
};

/** @throws DynamoDbError if the write is invalid */
export const readDelete = (request: Request<'DeleteItem'>): Write => readWrite(request, request.Key, 'delete');

/** Reads a write that only checks a condition. */
export const readCheck = (request: Request<'DeleteItem'>): Write => readWrite(request, request.Key, 'check');

/** @throws DynamoDbError if the write is invalid */
export const readUpdateWrite = (request: Request<'UpdateItem'>): Write =>
  readWrite(request, request.Key, 'update', request.UpdateExpression);

const readWrite = (
  request: Conditional,
  item: Attributes,
  kind: Exclude<Effect, object> | { put: Attributes } | 'update',
  updateText?: string,
): Write => {
  const {
    ConditionExpression: conditionText,
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: values,
  } = request;
  if (conditionText === undefined && updateText === undefined) assertNoPlaceholders(names, values, kind === 'update');
  const scope = new Scope(names, values);
  const nested = new Set<string>();
  const onPath = (path: Path) => {
    if (path.length > 1) nested.add(String(path[0]));
  };
  const update = updateText === undefined ? undefined : readUpdate(updateText, scope);
  const condition =
    conditionText === undefined ? undefined : readCondition('ConditionExpression', conditionText, scope, onPath);
  scope.assertAllUsed();
  const expressions = Buffer.byteLength(conditionText ?? '') + Buffer.byteLength(updateText ?? '');
  return {
    tableName: request.TableName,
    item,
    effect: kind === 'update' ? { update } : kind,
    condition,
    nested,
    returnsItem: request.ReturnValuesOnConditionCheckFailure === 'ALL_OLD',
    itemBytes: itemBytes(item),
    expressionBytes: Object.values(scope.values).reduce((sum, value) => sum + valueBytes(value), expressions),
  };
};

const assertNoPlaceholders = (names: object | undefined, values: object | undefined, isUpdate: boolean): void => {
  if (names) throw validationError('ExpressionAttributeNames can only be specified when using expressions');
  if (!values) return;
  const absent = isUpdate ? 'UpdateExpression and ConditionExpression are' : 'ConditionExpression is';
  throw validationError(`ExpressionAttributeValues can only be specified when using expressions: ${absent} null`);
};

/**
 * Finds the table and the key of a write.
 *
 * @throws DynamoDbError if the table is absent, or the write does not match its key
 */
export const locate = ({ tables }: Context, write: Write): { table: Table; key: Key } => {
  const table = tables.get(write.tableName);
  const key = isPut(write) ? readItemKey(table, write.item) : readKey(table, write.item);
  const nested = table.keyNames.find((name) => write.nested.has(name));
  if (nested !== undefined) throw nestedKey(nested);
  if (typeof write.effect === 'object' && 'update' in write.effect) {
    const changed = write.effect.update?.children;
    for (const name of table.keyNames) {
      const change = changed?.get(name);
      if (change && change.children.size > 0) throw nestedKey(name);
      if (!change) continue;
      throw validationError(
        `One or more parameter values were invalid: Cannot update attribute ${name}. This attribute is part of the key`,
      );
    }
  }
  return { table, key };
};

/** Returns whether a write replaces an item regardless of what it is. */
export const isPut = ({ effect }: Write): boolean => typeof effect === 'object' && 'put' in effect;

/** Creates the error for a path below a key. */
export const nestedKey = (name: string) =>
  validationError(
    `Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: ${name}`,
  );

/**
 * Checks the condition of a write, and returns the item after it.
 *
 * @throws DynamoDbError if the item does not permit the write
 */
export const itemAfter = (write: Write, key: Key, before: StoredItem | undefined): StoredItem | undefined => {
  const { effect, condition, item, returnsItem } = write;
  if (condition && !condition(before?.item ?? {})) throw conditionFailed(returnsItem ? before?.item : undefined);
  if (effect === 'check') return before;
  if (effect === 'delete') return undefined;
  if ('put' in effect) return { key, item, bytes: write.itemBytes };
  const start = before?.item ?? item;
  const updated = effect.update ? applyUpdate(start, effect.update) : start;
  const bytes = itemBytes(updated);
  if (bytes > MAX_ITEM_BYTES) throw itemTooLarge(true);
  return { key, item: updated, bytes };
};

/** Returns the change of a table. */
export const changeOf = (table: Table, key: Key, after: StoredItem | undefined): Change =>
  after ? { table, put: after } : { table, delete: key };
