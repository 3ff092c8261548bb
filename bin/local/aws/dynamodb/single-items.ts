import type { AwsResponse } from '../aws-service.ts';
import type { Attributes } from './attributes.ts';
import { accessOf, type CallContext } from './context.ts';
import { itemBytes, MAX_ITEM_BYTES } from './item-size.ts';
import { readUnits, writeUnits } from './partition-capacity.ts';
import { parsed, sendWith, validationException } from './protocol.ts';
import { requests, responses } from './requests.ts';
import { throttlingException } from './throttling.ts';

/** Reads an item. Consumes units for the whole item, regardless of the projection. */
export const getItem = async (context: CallContext): Promise<AwsResponse> => {
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

export const putItem = async (context: CallContext): Promise<AwsResponse> => {
  const request = parsed(requests.PutItem, context.call.body);
  if (!request) return context.inner(context.call);
  const bytes = itemBytes(request.Item);
  if (bytes > MAX_ITEM_BYTES) return validationException('Item size has exceeded the maximum allowed size');
  return writeItem(context, request.TableName, request.Item, () => bytes);
};

/** Deletes an item. Consumes units for its size before the deletion. */
export const deleteItem = async (context: CallContext): Promise<AwsResponse> => {
  const request = parsed(requests.DeleteItem, context.call.body);
  if (!request) return context.inner(context.call);
  return writeItem(context, request.TableName, request.Key, () => 0);
};

/** Updates an item. Consumes units for the larger of its sizes before and after the update. */
export const updateItem = async (context: CallContext): Promise<AwsResponse> => {
  const request = parsed(requests.UpdateItem, context.call.body);
  if (!request) return context.inner(context.call);
  const { TableName, Key } = request;
  return writeItem(context, TableName, Key, async () => {
    const { body } = await sendWith(context, { TableName, Key, ConsistentRead: true }, 'GetItem');
    return itemBytes(parsed(responses.GetItem, body)?.Item ?? {});
  });
};

/** A failed condition consumes units for the existing item, a write for the larger of the old and the new item. */
const writeItem = async (
  context: CallContext,
  table: string,
  item: Attributes,
  newBytes: () => number | Promise<number>,
): Promise<AwsResponse> => {
  const { call, inner, items, throttling } = context;
  const access = accessOf(context, 'write', table, items.partitionKey(table, item));
  const reason = throttling.reason(access);
  if (reason) return throttlingException([reason]);
  const unitsBefore = writeUnits(items.bytes(table, item));
  throttling.consume(access, unitsBefore);
  const response = await inner(call);
  if (response.status !== 200) return response;
  const bytes = await newBytes();
  items.setBytes(table, item, bytes);
  throttling.consume(access, Math.max(0, writeUnits(bytes) - unitsBefore));
  return response;
};
