import { accessOf, admitBatch, type Context } from './context.ts';
import { validationError } from './errors.ts';
import { Expressions } from './expressions/expressions.ts';
import { readUnits, writeUnits } from './partition-capacity.ts';
import { type Request, readRequest, requests } from './requests.ts';
import { readKey } from './table.ts';
import { assertDistinct, changeOf, itemAfter, locate, readWrite, type Write } from './write.ts';

/** The maximum size of a response; the keys of items that would exceed it are returned as unprocessed. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;
const MAX_KEYS = 100;
const MAX_WRITES = 25;
const DUPLICATES = 'Provided list of item keys contains duplicates';

/**
 * Reads up to 100 items. Returns keys as unprocessed if they are throttled or if the response would be too large; fails
 * only if every key is throttled.
 */
export const batchGet = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.BatchGetItem, parameters);
  const tables = Object.entries(request.RequestItems);
  if (tables.reduce((sum, [, { Keys }]) => sum + Keys.length, 0) > MAX_KEYS) {
    throw validationError('Too many items requested for the BatchGetItem call');
  }
  const selections = tables.map(([name, read]) => {
    const expressions = new Expressions(read);
    const select = expressions.selection();
    expressions.assertAllUsed();
    return [name, select] as const;
  });
  const reads = tables.flatMap(([name, { Keys, ConsistentRead }]) => {
    const table = context.tables.get(name);
    return Keys.map((attributes) => {
      const key = readKey(table, attributes);
      const [stored, access] = [table.get(key), accessOf(context, 'read', table, attributes)];
      const bytes = stored?.bytes ?? 0;
      return { attributes, table, key, stored, access, bytes, units: readUnits(bytes, ConsistentRead) };
    });
  });
  assertDistinct(reads, DUPLICATES);
  let totalBytes = 0;
  const { admitted, unprocessed } = admitBatch(context, reads, ({ bytes }) => {
    const exceeds = totalBytes + bytes > MAX_RESPONSE_BYTES;
    if (!exceeds) totalBytes += bytes;
    return exceeds;
  });
  const found = selections.map(([name, select]) => [
    name,
    admitted.flatMap(({ access, stored }) => (access.table === name && stored ? [select(stored.item)] : [])),
  ]);
  const left = tables.map(([name, rest]) => {
    const Keys = unprocessed.filter(({ access }) => access.table === name).map(({ attributes }) => attributes);
    return [name, { ...rest, Keys }] as const;
  });
  return {
    Responses: Object.fromEntries(found),
    UnprocessedKeys: Object.fromEntries(left.filter(([, { Keys }]) => Keys.length > 0)),
  };
};

/**
 * Writes up to 25 items. Returns writes as unprocessed if they are throttled or conflict with a transaction; fails only
 * if every write is throttled.
 */
export const batchWrite = (context: Context, parameters: unknown): object => {
  const request = readRequest(requests.BatchWriteItem, parameters);
  const members = Object.entries(request.RequestItems).flatMap(([TableName, list]) =>
    list.map((member) => ({ member, write: readMember(TableName, member) })),
  );
  if (members.length > MAX_WRITES) throw validationError('Too many items requested for the BatchWriteItem call');
  const writes = members.map(({ member, write }) => {
    const located = locate(context, write);
    const after = itemAfter(located);
    return { ...located, member, after, units: writeUnits(Math.max(after?.bytes ?? 0, located.before?.bytes ?? 0)) };
  });
  assertDistinct(writes, DUPLICATES);
  const { admitted, unprocessed } = admitBatch(context, writes, ({ access }) =>
    Boolean(context.conflicts.match(access)),
  );
  context.tables.write(admitted.map((write) => changeOf(write, write.after)));
  const left = Map.groupBy(unprocessed, ({ access }) => access.table);
  return {
    UnprocessedItems: Object.fromEntries([...left].map(([name, list]) => [name, list.map(({ member }) => member)])),
  };
};

type Member = Request<'BatchWriteItem'>['RequestItems'][string][number];

const readMember = (TableName: string, { PutRequest, DeleteRequest }: Member): Write => {
  if (PutRequest && !DeleteRequest) return readWrite('put', { TableName, ...PutRequest });
  if (DeleteRequest && !PutRequest) return readWrite('delete', { TableName, ...DeleteRequest });
  throw validationError(
    'Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes',
  );
};
