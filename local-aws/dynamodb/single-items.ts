import type { DynaliteError, Item } from 'dynalite/db/index.js';
import type { AwsResponse } from '../aws-service.ts';
import type { Attributes } from './attributes.ts';
import { accessOf, type CallContext } from './context.ts';
import {
  errorResponse,
  isConditionFailure,
  type Operation,
  operationOf,
  type Validated,
  validate,
} from './dynalite.ts';
import { itemBytes, MAX_ITEM_BYTES } from './item-size.ts';
import { readUnits, writeUnits } from './partition-capacity.ts';
import { exception, parsed, success, validationException } from './protocol.ts';
import { requests } from './requests.ts';
import { commit, stageWrite } from './staged-write.ts';
import { throttlingException } from './throttling.ts';

/** Reads an item. Consumes units for the whole item, regardless of the projection. */
export const getItem = async (context: CallContext): Promise<AwsResponse> => {
  const { call, inner, items, locks, throttling } = context;
  const request = parsed(requests.GetItem, call.body);
  if (!request) return inner(call);
  const { TableName: table, Key: key, ConsistentRead = false } = request;
  await locks.untilReleased(items.id(table, key));
  const access = accessOf(context, 'read', table, items.partitionKey(table, key));
  const reason = throttling.reason(access);
  if (reason) return throttlingException([reason]);
  throttling.consume(access, readUnits(items.bytes(table, key), ConsistentRead));
  return inner(call);
};

export const putItem = async (context: CallContext): Promise<AwsResponse> => {
  const request = parsed(requests.PutItem, context.call.body);
  if (!request) return context.inner(context.call);
  if (itemBytes(request.Item) > MAX_ITEM_BYTES) {
    return validationException('Item size has exceeded the maximum allowed size');
  }
  return writeItem(context, operationOf('PutItem'), request.TableName, request.Item);
};

/** Deletes an item. Consumes units for its size before the deletion. */
export const deleteItem = async (context: CallContext): Promise<AwsResponse> => {
  const request = parsed(requests.DeleteItem, context.call.body);
  if (!request) return context.inner(context.call);
  return writeItem(context, operationOf('DeleteItem'), request.TableName, request.Key);
};

/** Updates an item. Consumes units for the larger of its sizes before and after the update. */
export const updateItem = async (context: CallContext): Promise<AwsResponse> => {
  const request = parsed(requests.UpdateItem, context.call.body);
  if (!request) return context.inner(context.call);
  return writeItem(context, operationOf('UpdateItem'), request.TableName, request.Key);
};

/** A failed condition consumes units for the existing item, a write for the larger of the old and the new item. */
const writeItem = async (
  context: CallContext,
  operation: Operation,
  table: string,
  item: Attributes,
): Promise<AwsResponse> => {
  const { call, store, items, locks, conflicts, throttling } = context;
  const data = validate(store, operation.parameters, call.body);
  const access = accessOf(context, 'write', table, items.partitionKey(table, item));
  const reason = throttling.reason(access);
  if (reason) return throttlingException([reason]);
  if (locks.isLocked(items.id(table, item)) || conflicts.match(access)) {
    return exception('TransactionConflictException', 'Transaction is ongoing for the item');
  }
  const unitsBefore = writeUnits(items.bytes(table, item));
  throttling.consume(access, unitsBefore);
  const write = await stageWrite(store, operation, data);
  try {
    if ('error' in write.outcome) return failure(write.outcome.error, write.before, data);
    await commit(store, [write]);
    items.setBytes(table, item, write.bytesAfter);
    throttling.consume(access, Math.max(0, writeUnits(write.bytesAfter) - unitsBefore));
    return success(withoutEmptyAttributes(write.outcome.response));
  } finally {
    write.release();
  }
};

/** Returns the error of a write, with the item if its condition failed and the request asks for it. */
const failure = (error: DynaliteError, before: Item | undefined, data: Validated): AwsResponse => {
  const returnsItem = data.ReturnValuesOnConditionCheckFailure === 'ALL_OLD' && isConditionFailure(error);
  return errorResponse(error, returnsItem && before ? { Item: before } : {});
};

/** DynamoDB omits the attributes of `ReturnValues` if there are none. */
const withoutEmptyAttributes = (response: { Attributes?: object }): object => {
  const { Attributes, ...rest } = response;
  return Attributes && Object.keys(Attributes).length > 0 ? response : rest;
};
