import { accessOf, type Context, consumedCapacity } from './context.ts';
import { validationError } from './errors.ts';
import { type Condition, Expressions } from './expressions/expressions.ts';
import { queriedKeys, readKeyCondition } from './expressions/key-condition.ts';
import { utf8Order } from './order.ts';
import { readUnits } from './partition-capacity.ts';
import { type Request, readRequest, requests } from './requests.ts';
import { firstIndex, type Key, readKey, type StoredItem, type Table } from './table.ts';
import type { Attributes } from './value.ts';

/** A page ends with the item with which its items reach this size, before the filter. */
const MAX_PAGE_BYTES = 1024 * 1024;

/** Reads the items of a partition key value. Consumes units for all items read, before filter and projection. */
export const query = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.Query, parameters);
  const expressions = new Expressions(request);
  const condition = readKeyCondition(expressions);
  const page = readPageRequest(request, expressions);
  const table = context.tables.get(request.TableName);
  const { partition, range } = queriedKeys(condition, table);
  const start = startKey(table, request);
  const key = expressions.names.find((name) => table.keyNames.includes(name));
  if (key !== undefined) {
    throw validationError(
      `Filter Expression can only contain non-primary key attributes: Primary key attribute: ${key}`,
    );
  }
  const order = utf8Order(partition);
  if (start && start.partition !== order) {
    throw validationError('The provided starting key is outside query boundaries based on provided conditions');
  }
  if (start && (range.isBefore(start.sort) || range.isAfter(start.sort))) {
    throw validationError('The provided starting key does not match the range key predicate');
  }
  const access = accessOf(context, 'read', table, { [table.definition.partition.name]: { S: partition } });
  context.throttling.assertAdmitted(access);
  const items = rangeOf(table.items(order), range, start, request.ScanIndexForward ?? true);
  const { response, units } = readPage(table, items, page);
  context.throttling.consume(access, units);
  return response;
};

/** Returns the items of a range after the start key. */
const rangeOf = (
  items: readonly StoredItem[],
  range: { isBefore(sort: string): boolean; isAfter(sort: string): boolean },
  start: Key | undefined,
  isForward: boolean,
): StoredItem[] => {
  const isBefore = (sort: string) => range.isBefore(sort) || (isForward && start !== undefined && sort <= start.sort);
  const isAfter = (sort: string) => range.isAfter(sort) || (!isForward && start !== undefined && sort >= start.sort);
  const first = firstIndex(items, ({ key }) => !isBefore(key.sort));
  const found = items.slice(
    first,
    Math.max(
      first,
      firstIndex(items, ({ key }) => isAfter(key.sort)),
    ),
  );
  return isForward ? found : found.reverse();
};

/** Scans a table. Only rules throttle a scan, because it covers many partition keys. */
export const scan = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.Scan, parameters);
  const expressions = new Expressions(request);
  const page = readPageRequest(request, expressions);
  const table = context.tables.get(request.TableName);
  const start = startKey(table, request);
  context.throttling.assertAdmitted(accessOf(context, 'read', table, {}));
  return readPage(table, table.scan(start), page).response;
};

const startKey = (table: Table, { ExclusiveStartKey }: Request<'Scan'>): Key | undefined =>
  ExclusiveStartKey &&
  readKey(
    table,
    ExclusiveStartKey,
    'The provided starting key is invalid: The provided key element does not match the schema',
  );

const readPageRequest = (request: Request<'Scan'>, expressions: Expressions) => {
  const filter: Condition = expressions.condition('FilterExpression') ?? (() => true);
  const select = expressions.selection();
  expressions.assertAllUsed();
  if (request.Select !== undefined && request.ProjectionExpression !== undefined) {
    throw validationError('Cannot specify the ProjectionExpression when choosing to get COUNT');
  }
  return { request, filter, select };
};

const readPage = (
  table: Table,
  items: Iterable<StoredItem>,
  { request, filter, select }: ReturnType<typeof readPageRequest>,
): { response: object; units: number } => {
  const { Limit = Number.POSITIVE_INFINITY } = request;
  const found: Attributes[] = [];
  let [scanned, bytes] = [0, 0];
  let last: StoredItem | undefined;
  for (const stored of items) {
    scanned++;
    bytes += stored.bytes;
    if (filter(stored.item)) found.push(stored.item);
    if (scanned < Limit && bytes < MAX_PAGE_BYTES) continue;
    last = stored;
    break;
  }
  const units = readUnits(bytes, request.ConsistentRead);
  const response = {
    Count: found.length,
    Items: request.Select !== undefined ? undefined : found.map(select),
    ScannedCount: scanned,
    LastEvaluatedKey: last && Object.fromEntries(table.keyNames.map((name) => [name, last.item[name]])),
    ConsumedCapacity: consumedCapacity(request, request.TableName, units),
  };
  return { response, units };
};
