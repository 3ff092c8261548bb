import { consumedCapacity } from './capacity.ts';
import { accessOf, type Context } from './context.ts';
import { itemTooLarge, validationError } from './errors.ts';
import { writeUnits } from './partition-capacity.ts';
import { type Request, readRequest, requests } from './requests.ts';
import { readItemKey, readKey, type StoredItem, type Table } from './table.ts';
import type { Change } from './tables.ts';
import { type ThrottlingReason, throttlingException } from './throttling.ts';
import type { Attributes } from './value.ts';
import { itemBytes, MAX_ITEM_BYTES } from './value-size.ts';

const MAX_WRITES = 25;

type WriteRequest = Request<'BatchWriteItem'>['RequestItems'][string][number];

type TableWrite = {
  table: Table;
  request: WriteRequest;
  /** The item to put, or the key to delete. */
  item: Attributes;
  before: StoredItem | undefined;
  change: Change;
  units: number;
};

/**
 * Writes up to 25 items. Returns writes as unprocessed if they are throttled or conflict with a transaction; fails only
 * if every write is throttled.
 */
export const batchWrite = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.BatchWriteItem, parameters);
  const tables = Object.entries(request.RequestItems);
  const all = tables.flatMap(([, writes]) => writes);
  if (all.length > MAX_WRITES) throw validationError('Too many items requested for the BatchWriteItem call');
  for (const write of all) assertValid(write);
  const writes = tables.flatMap(([name, list]) => list.map((write) => locate(context.tables.get(name), write)));
  assertDistinct(writes);
  const { admitted, unprocessed } = admit(context, writes);
  context.tables.write(admitted.map(({ change }) => change));
  const capacity = tables.flatMap(([name]) => {
    const units = admitted.filter(({ table }) => table.definition.name === name).map((write) => write.units);
    return units.length === 0
      ? []
      : (consumedCapacity(
          request,
          name,
          units.reduce((a, b) => a + b),
        ) ?? []);
  });
  return { UnprocessedItems: requestItems(unprocessed), ...(capacity.length > 0 && { ConsumedCapacity: capacity }) };
};

const assertValid = ({ PutRequest, DeleteRequest }: WriteRequest): void => {
  if ((PutRequest === undefined) === (DeleteRequest === undefined)) {
    throw validationError(
      'Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes',
    );
  }
  if (PutRequest && itemBytes(PutRequest.Item) > MAX_ITEM_BYTES) throw itemTooLarge();
};

const locate = (table: Table, request: WriteRequest): TableWrite => {
  const item = request.PutRequest?.Item ?? request.DeleteRequest?.Key ?? {};
  const key = request.PutRequest ? readItemKey(table, item) : readKey(table, item);
  const bytes = request.PutRequest ? itemBytes(item) : 0;
  const before = table.get(key);
  const change: Change = request.PutRequest ? { table, put: { key, item, bytes } } : { table, delete: key };
  return { table, request, item, before, change, units: writeUnits(Math.max(bytes, before?.bytes ?? 0)) };
};

const assertDistinct = (writes: readonly TableWrite[]): void => {
  const keys = writes.map(({ table, change }) => {
    const { partition, sort } = 'put' in change ? change.put.key : change.delete;
    return JSON.stringify([table.definition.name, partition, sort]);
  });
  if (new Set(keys).size < keys.length) {
    throw validationError('Provided list of item keys contains duplicates');
  }
};

const admit = (context: Context, writes: readonly TableWrite[]) => {
  const { conflicts, throttling } = context;
  const admitted: TableWrite[] = [];
  const unprocessed: TableWrite[] = [];
  const reasons: ThrottlingReason[] = [];
  for (const write of writes) {
    const access = accessOf(context, 'write', write.table, write.item);
    const reason = throttling.reason(access);
    if (reason) reasons.push(reason);
    if (reason || conflicts.match(access)) {
      unprocessed.push(write);
      continue;
    }
    throttling.consume(access, write.units);
    admitted.push(write);
  }
  if (reasons.length === writes.length) throw throttlingException(reasons);
  return { admitted, unprocessed };
};

const requestItems = (writes: readonly TableWrite[]): object => {
  const grouped = Map.groupBy(writes, ({ table }) => table.definition.name);
  return Object.fromEntries([...grouped].map(([name, list]) => [name, list.map(({ request }) => request)]));
};
