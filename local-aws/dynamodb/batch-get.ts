import { consumedCapacity } from './capacity.ts';
import { accessOf, type Context } from './context.ts';
import { validationError } from './errors.ts';
import { readUnits } from './partition-capacity.ts';
import { type Request, readRequest, requests } from './requests.ts';
import { readSelection } from './selection.ts';
import { readKey, type StoredItem } from './table.ts';
import { type ThrottlingReason, throttlingException } from './throttling.ts';
import type { Attributes } from './value.ts';

/** The maximum size of a response; the keys of items that would exceed it are returned as unprocessed. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;
const MAX_KEYS = 100;

type Read = { tableName: string; key: Attributes; stored: StoredItem | undefined };

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
  const selections = new Map(tables.map(([name, read]) => [name, readSelection(read)]));
  const reads = tables.flatMap(([name, { Keys }]) => readsOf(context, name, Keys));
  for (const [name, selection] of selections) selection.assertKeys(context.tables.get(name));
  const { admitted, unprocessed, units } = admit(context, request, reads);
  const itemsOf = (name: string) =>
    admitted.flatMap(({ tableName, stored }) =>
      tableName === name && stored ? [selections.get(name)?.select(stored.item)] : [],
    );
  const capacity = [...units].flatMap(([name, sum]) => consumedCapacity(request, name, sum) ?? []);
  return {
    Responses: Object.fromEntries(tables.map(([name]) => [name, itemsOf(name)])),
    UnprocessedKeys: requestItems(request, unprocessed),
    ...(capacity.length > 0 && { ConsumedCapacity: capacity }),
  };
};

const readsOf = ({ tables }: Context, tableName: string, keys: readonly Attributes[]): Read[] => {
  const table = tables.get(tableName);
  const located = keys.map((key) => ({ key, located: readKey(table, key) }));
  if (
    new Set(located.map(({ located: { partition, sort } }) => JSON.stringify([partition, sort]))).size < keys.length
  ) {
    throw validationError('Provided list of item keys contains duplicates');
  }
  return located.map(({ key, located: place }) => ({ tableName, key, stored: table.get(place) }));
};

const admit = (context: Context, request: Request<'BatchGetItem'>, reads: readonly Read[]) => {
  const { tables, throttling } = context;
  const admitted: Read[] = [];
  const unprocessed: Read[] = [];
  const reasons: ThrottlingReason[] = [];
  const units = new Map<string, number>();
  let totalBytes = 0;
  for (const read of reads) {
    const { tableName, key, stored } = read;
    const bytes = stored?.bytes ?? 0;
    const access = accessOf(context, 'read', tables.get(tableName), key);
    const reason = throttling.reason(access);
    if (reason) reasons.push(reason);
    if (reason || totalBytes + bytes > MAX_RESPONSE_BYTES) {
      unprocessed.push(read);
      continue;
    }
    totalBytes += bytes;
    const used = readUnits(bytes, request.RequestItems[tableName]?.ConsistentRead ?? false);
    units.set(tableName, (units.get(tableName) ?? 0) + used);
    throttling.consume(access, used);
    admitted.push(read);
  }
  if (admitted.length === 0 && reasons.length > 0) throw throttlingException(reasons);
  return { admitted, unprocessed, units };
};

/** Returns `RequestItems` for some of the keys, with the other parameters of their tables unchanged. */
const requestItems = (request: Request<'BatchGetItem'>, reads: readonly Read[]): object => {
  const tables = Object.entries(request.RequestItems).map(([name, rest]) => {
    const Keys = reads.filter(({ tableName }) => tableName === name).map(({ key }) => key);
    return [name, { ...rest, Keys }] as const;
  });
  return Object.fromEntries(tables.filter(([, { Keys }]) => Keys.length > 0));
};
