import { consumedCapacity } from './capacity.ts';
import { accessOf, type Context } from './context.ts';
import { exception, validationError } from './errors.ts';
import { project } from './expressions/projection.ts';
import { readUnits, writeUnits } from './partition-capacity.ts';
import { type Request, readRequest, requests } from './requests.ts';
import { readSelection } from './selection.ts';
import { readKey } from './table.ts';
import type { Attributes } from './value.ts';
import { changeOf, itemAfter, locate, readDelete, readPut, readUpdateWrite, type Write } from './write.ts';

/** Reads an item. Consumes units for the whole item, regardless of the projection. */
export const getItem = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.GetItem, parameters);
  const selection = readSelection(request);
  const table = context.tables.get(request.TableName);
  const key = readKey(table, request.Key);
  selection.assertKeys(table);
  const access = accessOf(context, 'read', table, request.Key);
  context.throttling.assertAdmitted(access);
  const stored = table.get(key);
  const units = readUnits(stored?.bytes ?? 0, request.ConsistentRead ?? false);
  context.throttling.consume(access, units);
  return {
    ...(stored && { Item: selection.select(stored.item) }),
    ConsumedCapacity: consumedCapacity(request, request.TableName, units),
  };
};

export const putItem = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.PutItem, parameters);
  return writeItem(context, request, readPut(request));
};

/** Deletes an item. Consumes units for its size before the deletion. */
export const deleteItem = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.DeleteItem, parameters);
  return writeItem(context, request, readDelete(request));
};

/** Updates an item. Consumes units for the larger of its sizes before and after the update. */
export const updateItem = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.UpdateItem, parameters);
  return writeItem(context, request, readUpdateWrite(request));
};

type Returning = Pick<Request<'UpdateItem'>, 'ReturnValues' | 'ReturnConsumedCapacity'>;

/** A failed condition consumes units for the existing item, a write for the larger of the old and the new item. */
const writeItem = (context: Context, request: Returning, write: Write): object => {
  const { tables, conflicts, throttling } = context;
  const { ReturnValues = 'NONE' } = request;
  const isUpdate = typeof write.effect === 'object' && 'update' in write.effect;
  if (!isUpdate && ReturnValues !== 'NONE' && ReturnValues !== 'ALL_OLD') {
    throw validationError('Return values set to invalid value');
  }
  const { table, key } = locate(context, write);
  const access = accessOf(context, 'write', table, write.item);
  throttling.assertAdmitted(access);
  if (conflicts.match(access)) {
    throw exception('TransactionConflictException', 'Transaction is ongoing for the item');
  }
  const before = table.get(key);
  const unitsBefore = writeUnits(before?.bytes ?? 0);
  throttling.consume(access, unitsBefore);
  const after = itemAfter(write, key, before);
  const units = Math.max(unitsBefore, writeUnits(after?.bytes ?? 0));
  throttling.consume(access, units - unitsBefore);
  tables.write([changeOf(table, key, after)]);
  const attributes = returnedAttributes(ReturnValues, write, before?.item, after?.item);
  return {
    ...(attributes && Object.keys(attributes).length > 0 && { Attributes: attributes }),
    ConsumedCapacity: consumedCapacity(request, write.tableName, units),
  };
};

const returnedAttributes = (
  returned: NonNullable<Returning['ReturnValues']>,
  { effect }: Write,
  before: Attributes | undefined,
  after: Attributes | undefined,
): Attributes | undefined => {
  if (returned === 'NONE') return undefined;
  const item = returned.endsWith('OLD') ? before : after;
  if (returned.startsWith('ALL') || !item) return item;
  const update = typeof effect === 'object' && 'update' in effect ? effect.update : undefined;
  return update && project(item, update);
};
