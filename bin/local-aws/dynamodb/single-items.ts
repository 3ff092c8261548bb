import { accessOf, type Context, consumedCapacity } from './context.ts';
import { exception, validationError } from './errors.ts';
import { Expressions } from './expressions/expressions.ts';
import { project } from './expressions/path-tree.ts';
import { readUnits, writeUnits } from './partition-capacity.ts';
import { type Request, readRequest, requests } from './requests.ts';

import { readKey } from './table.ts';
import type { Attributes } from './value.ts';
import { changeOf, itemAfter, locate, readWrite, type Write } from './write.ts';

/** Reads an item. Consumes units for the whole item, regardless of the projection. */
export const getItem = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.GetItem, parameters);
  const expressions = new Expressions(request);
  const selection = expressions.selection();
  expressions.assertAllUsed();

  const table = context.tables.get(request.TableName);
  const key = readKey(table, request.Key);
  const select = selection(table);
  const access = accessOf(context, 'read', table, request.Key);
  context.throttling.assertAdmitted(access);
  const stored = table.get(key);
  const units = readUnits(stored?.bytes ?? 0, request.ConsistentRead);
  context.throttling.consume(access, units);
  return {
    Item: stored && select(stored.item),
    ConsumedCapacity: consumedCapacity(request, request.TableName, units),
  };
};

/** Replaces an item. */
export const putItem = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.PutItem, parameters);
  return writeItem(context, request, readWrite('put', request));
};

/** Deletes an item. Consumes units for its size before the deletion. */
export const deleteItem = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.DeleteItem, parameters);
  return writeItem(context, request, readWrite('delete', request));
};

/** Updates an item. Consumes units for the larger of its sizes before and after the update. */
export const updateItem = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.UpdateItem, parameters);
  return writeItem(context, request, readWrite('update', request));
};

type Returning = Pick<Request<'UpdateItem'>, 'ReturnValues' | 'ReturnConsumedCapacity'>;

/** A failed condition consumes units for the existing item, a write for the larger of the old and the new item. */
const writeItem = (context: Context, request: Returning, write: Write): object => {
  const { tables, conflicts, throttling } = context;
  const { ReturnValues = 'NONE' } = request;
  if (write.kind !== 'update' && !/^(?:NONE|ALL_OLD)$/.test(ReturnValues)) {
    throw validationError('Return values set to invalid value');
  }
  const located = locate(context, write);
  const { access, before } = located;
  throttling.assertAdmitted(access);
  if (conflicts.match(access)) throw exception('TransactionConflictException', 'Transaction is ongoing for the item');
  const unitsBefore = writeUnits(before?.bytes ?? 0);
  throttling.consume(access, unitsBefore);
  const after = itemAfter(located);
  const units = Math.max(unitsBefore, writeUnits(after?.bytes ?? 0));
  throttling.consume(access, units - unitsBefore);
  tables.write([changeOf(located, after)]);
  const returned = returnedItem(ReturnValues, write, (ReturnValues.endsWith('OLD') ? before : after)?.item);
  return {
    ...(returned && Object.keys(returned).length > 0 && { Attributes: returned }),
    ConsumedCapacity: consumedCapacity(request, write.tableName, units),
  };
};

const returnedItem = (values: string, { update }: Write, item: Attributes | undefined): Attributes | undefined => {
  if (values === 'NONE') return undefined;
  if (values.startsWith('ALL') || !item) return item;
  return update && project(item, update);
};
