import type { AwsResponse } from '../aws-service.ts';
import type { Attributes } from './attributes.ts';
import { readUnits, writeUnits } from './capacity-units.ts';
import { accessOf, type Context } from './context.ts';
import { itemBytes, MAX_ITEM_BYTES } from './item-size.ts';
import { parsed, sendWith, validationException } from './protocol.ts';
import { requests, responses } from './requests.ts';
import { throttlingException } from './throttling.ts';

/** Reads an item: for what it holds, whatever part of it the projection asks for. */
export const getItem = async (context: Context): Promise<AwsResponse> => {
  const { call, inner, items, throttling } = context;
  const request = parsed(requests.GetItem, call.body);
  if (!request) return inner(call);
  const { TableName: table, Key: key, ConsistentRead = false } = request;
  const access = accessOf(context, 'read', table, items.partitionKey(table, key));
  const reason = throttling.reason(access);
  if (reason) return throttlingException([reason]);
  throttling.consume(access, readUnits(items.bytes(table, key), ConsistentRead));
  return inner(call);
};

/** Writes an item. */
export const putItem = async (context: Context): Promise<AwsResponse> => {
  const request = parsed(requests.PutItem, context.call.body);
  if (!request) return context.inner(context.call);
  const bytes = itemBytes(request.Item);
  if (bytes > MAX_ITEM_BYTES) return validationException('Item size has exceeded the maximum allowed size');
  return writeItem(context, request.TableName, request.Item, () => bytes);
};

/** Deletes an item: for the size that it had. */
export const deleteItem = async (context: Context): Promise<AwsResponse> => {
  const request = parsed(requests.DeleteItem, context.call.body);
  if (!request) return context.inner(context.call);
  return writeItem(context, request.TableName, request.Key, () => 0);
};

/** Changes an item: for the larger of what it was and what it became. */
export const updateItem = async (context: Context): Promise<AwsResponse> => {
  const request = parsed(requests.UpdateItem, context.call.body);
  if (!request) return context.inner(context.call);
  const { TableName, Key } = request;
  return writeItem(context, TableName, Key, async () => {
    const { body } = await sendWith(context, { TableName, Key, ConsistentRead: true }, 'GetItem');
    return itemBytes(parsed(responses.GetItem, body)?.Item ?? {});
  });
};

/** A failed condition consumes what the present item costs, a write the larger of the old and the new item. */
const writeItem = async (
  context: Context,
  table: string,
  item: Attributes,
  newBytes: () => number | Promise<number>,
): Promise<AwsResponse> => {
  const { call, inner, items, throttling } = context;
  const access = accessOf(context, 'write', table, items.partitionKey(table, item));
  const reason = throttling.reason(access);
  if (reason) return throttlingException([reason]);
  const before = writeUnits(items.bytes(table, item));
  throttling.consume(access, before);
  const answer = await inner(call);
  if (answer.status !== 200) return answer;
  const bytes = await newBytes();
  items.setBytes(table, item, bytes);
  throttling.consume(access, Math.max(0, writeUnits(bytes) - before));
  return answer;
};
