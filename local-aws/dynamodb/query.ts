import type { AwsResponse } from '../aws-service.ts';
import { accessOf, type CallContext } from './context.ts';
import { parsed, sendWith, success } from './protocol.ts';
import { type QueryRequest, requests, responses } from './requests.ts';
import { keyText } from './stored-items.ts';
import { throttlingException } from './throttling.ts';

/**
 * Reads the items of a partition key value. Consumes units for all items read, before filter and projection, as counted
 * by dynalite, which measures text in UTF-16 code units.
 */
export const query = async (context: CallContext): Promise<AwsResponse> => {
  const { call, inner, items, locks, throttling } = context;
  const request = parsed(requests.Query, call.body);
  if (!request) return inner(call);
  const { TableName: table } = request;
  await locks.untilReleased(`${table} `);
  const partitionName = items.keyOf(table)?.partition;
  const access = accessOf(context, 'read', table, partitionName && queriedKey(request, partitionName));
  const reason = throttling.reason(access);
  if (reason) return throttlingException([reason]);
  if (access.partitionKey === undefined) return inner(call);
  const result = await sendWith(context, { ...request, ReturnConsumedCapacity: 'TOTAL' });
  const response = result.status === 200 ? parsed(responses.Query, result.body) : undefined;
  if (!response) return result;
  const { ConsumedCapacity, ...body } = response;
  throttling.consume(access, ConsumedCapacity?.CapacityUnits ?? 0);
  return success(request.ReturnConsumedCapacity === 'TOTAL' ? response : body);
};

/** Scans a table. Only rules throttle a scan, because it covers many partition keys. */
export const scan = async (context: CallContext): Promise<AwsResponse> => {
  const request = parsed(requests.Scan, context.call.body);
  if (request) await context.locks.untilReleased(`${request.TableName} `);
  const reason = request && context.throttling.reason(accessOf(context, 'read', request.TableName, undefined));
  return reason ? throttlingException([reason]) : context.inner(context.call);
};

/** Returns the value of the key condition `partition = :value`. */
const queriedKey = (request: QueryRequest, partitionName: string): string | undefined => {
  const { KeyConditionExpression = '', ExpressionAttributeNames: names = {} } = request;
  for (const [, name = '', value = ''] of KeyConditionExpression.matchAll(/(#?[\w.-]+)\s*=\s*(:\w+)/g)) {
    if ((names[name] ?? name) === partitionName) return keyText(request.ExpressionAttributeValues?.[value]);
  }
  return undefined;
};
