import { accessOf, type CapacityRequest, type Context, consumedCapacity } from './context.ts';
import { exception } from './errors.ts';
import { Expressions } from './expressions/expressions.ts';
import { readUnits, writeUnits } from './partition-capacity.ts';
import { readRequest, requests } from './requests.ts';
import { readKey } from './table.ts';
import { changeOf, itemAfter, locate, readWrite, type Write } from './write.ts';

/** Reads an item. Consumes units for the whole item, regardless of the projection. */
export const getItem = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.GetItem, parameters);
  const expressions = new Expressions(request);
  const select = expressions.selection();
  expressions.assertAllUsed();

  const table = context.tables.get(request.TableName);
  const key = readKey(table, request.Key);
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

export const putItem = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.PutItem, parameters);
  return writeItem(context, request, readWrite('put', request));
};

/** Deletes an item. Consumes units for its size before the deletion. */
export const deleteItem = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.DeleteItem, parameters);
  return writeItem(context, request, readWrite('delete', request));
};

/** Updates an item, and returns it if requested. Consumes units for the larger of its sizes before and after. */
export const updateItem = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.UpdateItem, parameters);
  return writeItem(context, request, readWrite('update', request));
};

type Returning = CapacityRequest & { ReturnValues?: 'ALL_NEW' | 'NONE' | undefined };

const writeItem = (context: Context, request: Returning, write: Write): object => {
  const { tables, conflicts, throttling } = context;
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
  return {
    ...(request.ReturnValues === 'ALL_NEW' && { Attributes: after?.item }),
    ConsumedCapacity: consumedCapacity(request, write.tableName, units),
  };
};
