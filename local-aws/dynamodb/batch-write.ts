import type { AwsResponse } from '../aws-service.ts';
import type { Attributes } from './attributes.ts';
import { accessOf, type CallContext } from './context.ts';
import { itemBytes, MAX_ITEM_BYTES } from './item-size.ts';
import { writeUnits } from './partition-capacity.ts';
import { parsed, sendWith, success, validationException } from './protocol.ts';
import { type BatchWriteRequest, requests, type Write } from './requests.ts';
import { type ThrottlingReason, throttlingException } from './throttling.ts';

type TableWrite = {
  table: string;
  write: Write;
  /** The item to put, or the key to delete. */
  item: Attributes;
  /** The size of the item after the write. */
  bytes: number;
};

/**
 * Writes up to 25 items. Returns writes as unprocessed if they are throttled or if a transaction uses the item; fails
 * only if every write is throttled.
 */
export const batchWrite = async (context: CallContext): Promise<AwsResponse> => {
  const { call, inner } = context;
  const request = parsed(requests.BatchWriteItem, call.body);
  if (!request) return inner(call);
  const writes = writesOf(request);
  if (writes.some(({ bytes }) => bytes > MAX_ITEM_BYTES)) {
    return validationException('Item size has exceeded the maximum allowed size');
  }
  const { admitted, unprocessed, reasons } = admit(context, writes);
  if (writes.length > 0 && reasons.length === writes.length) return throttlingException(reasons);
  if (writes.length > 0 && admitted.length === 0) return success({ UnprocessedItems: requestItems(unprocessed) });
  const result =
    unprocessed.length === 0
      ? await inner(call)
      : await sendWith(context, { ...request, RequestItems: requestItems(admitted) });
  if (result.status !== 200) return result;
  for (const { table, item, bytes } of admitted) context.items.setBytes(table, item, bytes);
  return unprocessed.length === 0 ? result : success({ UnprocessedItems: requestItems(unprocessed) });
};

const writesOf = ({ RequestItems }: BatchWriteRequest): TableWrite[] =>
  Object.entries(RequestItems).flatMap(([table, writes]) =>
    writes.map((write) => {
      if ('DeleteRequest' in write) return { table, write, item: write.DeleteRequest.Key, bytes: 0 };
      const { Item: item } = write.PutRequest;
      return { table, write, item, bytes: itemBytes(item) };
    }),
  );

const admit = (context: CallContext, writes: readonly TableWrite[]) => {
  const { items, locks, conflicts, throttling } = context;
  const admitted: TableWrite[] = [];
  const unprocessed: TableWrite[] = [];
  const reasons: ThrottlingReason[] = [];
  for (const write of writes) {
    const { table, item, bytes } = write;
    const access = accessOf(context, 'write', table, items.partitionKey(table, item));
    const reason = throttling.reason(access);
    if (reason) reasons.push(reason);
    if (reason || locks.isLocked(items.id(table, item)) || conflicts.match(access)) {
      unprocessed.push(write);
    } else {
      throttling.consume(access, writeUnits(Math.max(bytes, items.bytes(table, item))));
      admitted.push(write);
    }
  }
  return { admitted, unprocessed, reasons };
};

const requestItems = (writes: readonly TableWrite[]): BatchWriteRequest['RequestItems'] => {
  const grouped: BatchWriteRequest['RequestItems'] = {};
  for (const { table, write } of writes) {
    grouped[table] ??= [];
    grouped[table].push(write);
  }
  return grouped;
};
