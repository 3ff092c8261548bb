import { consumedCapacity } from './capacity.ts';
import { accessOf, type Context } from './context.ts';
import { validationError } from './errors.ts';
import { type Condition, readCondition } from './expressions/condition.ts';
import { queriedKeys, readKeyCondition } from './expressions/key-condition.ts';
import type { Path } from './expressions/lexer.ts';
import { readProjection } from './expressions/projection.ts';
import { Scope } from './expressions/scope.ts';
import { orderOf } from './order.ts';
import { readUnits } from './partition-capacity.ts';
import { type Request, readRequest, requests } from './requests.ts';
import { type Selection, selectionOf } from './selection.ts';
import { firstIndex, type Key, readKey, type StoredItem, type Table } from './table.ts';
import { type Attributes, attributeOf } from './value.ts';
import { nestedKey } from './write.ts';

/** A page ends with the item with which its items reach this size, before the filter. */
const MAX_PAGE_BYTES = 1024 * 1024;

/** Reads the items of a partition key value. Consumes units for all items read, before filter and projection. */
export const query = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.Query, parameters);
  const text = request.KeyConditionExpression;
  if (text === undefined) {
    throw validationError(
      'Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.',
    );
  }
  const { scope, filter, selection, paths } = readExpressions(request);
  const condition = readKeyCondition(text, scope);
  scope.assertAllUsed();
  const table = context.tables.get(request.TableName);
  const { partition, range } = queriedKeys(condition, table);
  const start = request.ExclusiveStartKey && readStartKey(table, request.ExclusiveStartKey);
  assertNoKeys(table, paths, true);
  selection.assertKeys(table);
  const order = orderOf(partition) ?? '';
  if (start && start.partition !== order) {
    throw validationError('The provided starting key is outside query boundaries based on provided conditions');
  }
  if (start && (range.isBefore(start.sort) || range.isAfter(start.sort))) {
    throw validationError('The provided starting key does not match the range key predicate');
  }
  const access = accessOf(context, 'read', table, { [table.definition.partition.name]: partition });
  context.throttling.assertAdmitted(access);
  const isForward = request.ScanIndexForward ?? true;
  const items = table.items(order);
  const isAfterStart = (sort: string) => !start || (isForward ? sort > start.sort : sort >= start.sort);
  const first = firstIndex(items, ({ key: { sort } }) => !range.isBefore(sort) && (!isForward || isAfterStart(sort)));
  const end = firstIndex(
    items,
    ({ key: { sort } }) => range.isAfter(sort) || (!isForward && start !== undefined && isAfterStart(sort)),
  );
  const found = items.slice(first, Math.max(first, end));
  const page = readPage(request, table, isForward ? found : found.reverse(), filter, selection);
  context.throttling.consume(access, page.units);
  return page.response;
};

/** Scans a table. Only rules throttle a scan, because it covers many partition keys. */
export const scan = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.Scan, parameters);
  const { scope, filter, selection, paths } = readExpressions(request);
  scope.assertAllUsed();
  const table = context.tables.get(request.TableName);
  const start = request.ExclusiveStartKey && readStartKey(table, request.ExclusiveStartKey);
  assertNoKeys(table, paths, false);
  selection.assertKeys(table);
  context.throttling.assertAdmitted(accessOf(context, 'read', table, {}));
  return readPage(request, table, table.scan(start), filter, selection).response;
};

type PageRequest = Request<'Scan'> & Pick<Request<'Query'>, 'KeyConditionExpression'>;

const readExpressions = (request: PageRequest) => {
  const { FilterExpression: filterText, ProjectionExpression: projectionText, Select } = request;
  const {
    KeyConditionExpression: keyText,
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: values,
  } = request;
  if (names && [filterText, projectionText, keyText].every((text) => text === undefined)) {
    throw validationError('ExpressionAttributeNames can only be specified when using expressions');
  }
  if (values && filterText === undefined && keyText === undefined) {
    throw validationError(
      'ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null',
    );
  }
  const scope = new Scope(names, values);
  const paths: Path[] = [];
  const filter =
    filterText === undefined
      ? undefined
      : readCondition('FilterExpression', filterText, scope, (path) => paths.push(path));
  const projection = projectionText === undefined ? undefined : readProjection(projectionText, scope);
  if (projection && Select !== undefined && Select !== 'SPECIFIC_ATTRIBUTES') {
    throw validationError(
      `Cannot specify the ProjectionExpression when choosing to get ${Select === 'COUNT' ? 'only the Count' : Select}`,
    );
  }
  if (!projection && Select === 'SPECIFIC_ATTRIBUTES') {
    throw validationError(
      'Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES',
    );
  }
  if (Select === 'ALL_PROJECTED_ATTRIBUTES') {
    throw validationError(
      'One or more parameter values were invalid: ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName',
    );
  }
  return { scope, filter, selection: selectionOf(projection), paths };
};

const readStartKey = (table: Table, attributes: Attributes): Key =>
  readKey(
    table,
    attributes,
    'The provided starting key is invalid: The provided key element does not match the schema',
  );

/** @throws DynamoDbError if the filter of a query reads a key, or that of a scan reads below one */
const assertNoKeys = (table: Table, paths: readonly Path[], isQuery: boolean): void => {
  for (const [name, ...rest] of paths) {
    if (!table.keyNames.includes(String(name))) continue;
    if (rest.length > 0) throw nestedKey(String(name));
    if (!isQuery) continue;
    throw validationError(
      `Filter Expression can only contain non-primary key attributes: Primary key attribute: ${name}`,
    );
  }
};

const readPage = (
  request: PageRequest,
  table: Table,
  items: Iterable<StoredItem>,
  filter: Condition | undefined,
  { select }: Selection,
): { response: object; units: number } => {
  const { Limit = Number.POSITIVE_INFINITY } = request;
  const found: Attributes[] = [];
  let [scanned, bytes] = [0, 0];
  let last: StoredItem | undefined;
  for (const stored of items) {
    scanned++;
    bytes += stored.bytes;
    if (!filter || filter(stored.item)) found.push(stored.item);
    if (scanned < Limit && bytes < MAX_PAGE_BYTES) continue;
    last = stored;
    break;
  }
  const units = readUnits(bytes, request.ConsistentRead ?? false);
  const response = {
    Count: found.length,
    ...(request.Select !== 'COUNT' && { Items: found.map(select) }),
    ScannedCount: scanned,
    ...(last && { LastEvaluatedKey: keyAttributes(table, last.item) }),
    ConsumedCapacity: consumedCapacity(request, request.TableName, units),
  };
  return { response, units };
};

const keyAttributes = (table: Table, item: Attributes): Attributes =>
  Object.fromEntries(
    table.keyNames.flatMap((name) => {
      const value = attributeOf(item, name);
      return value ? [[name, value]] : [];
    }),
  );
