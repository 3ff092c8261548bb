import type { AwsResponse } from '../aws-service.ts';
import { accessOf, type Context } from './context.ts';
import { parsed, sendWith, success } from './protocol.ts';
import { type Query, requests, responses } from './requests.ts';
import { keyText } from './stored-items.ts';
import { throttlingException } from './throttling.ts';

/**
 * Reads the items of a partition key value: for the sum of what was read, before filter and projection. The sum is
 * dynalite's, which counts text in UTF-16 units. An index has keys of its own and is not limited here.
 */
export const query = async (context: Context): Promise<AwsResponse> => {
  const { call, inner, items, throttling } = context;
  const request = parsed(requests.Query, call.body);
  if (!request) return inner(call);
  const { TableName: table } = request;
  const partitionName = request.IndexName === undefined ? items.keyOf(table)?.partition : undefined;
  const access = accessOf(context, 'read', table, partitionName && queriedKey(request, partitionName));
  const reason = throttling.reason(access);
  if (reason) return throttlingException([reason]);
  if (access.partitionKey === undefined) return inner(call);
  const answer = await sendWith(context, { ...request, ReturnConsumedCapacity: 'TOTAL' });
  const response = answer.status === 200 ? parsed(responses.Query, answer.body) : undefined;
  if (!response) return answer;
  const { ConsumedCapacity, ...body } = response;
  throttling.consume(access, ConsumedCapacity?.CapacityUnits ?? 0);
  if (request.ReturnConsumedCapacity === 'TOTAL') return success(response);
  return request.ReturnConsumedCapacity === 'INDEXES' ? inner(call) : success(body);
};

/** Reads a table: throttled on demand only, since what it reads spreads over partition keys. */
export const scan = async (context: Context): Promise<AwsResponse> => {
  const request = parsed(requests.Scan, context.call.body);
  const reason = request && context.throttling.reason(accessOf(context, 'read', request.TableName, undefined));
  return reason ? throttlingException([reason]) : context.inner(context.call);
};

/** The value that the condition `partition = :value` of a query compares with. */
const queriedKey = (request: Query, partitionName: string): string | undefined => {
  const { KeyConditionExpression = '', ExpressionAttributeNames: names = {} } = request;
  for (const [, name = '', value = ''] of KeyConditionExpression.matchAll(/(#?[\w.-]+)\s*=\s*(:\w+)/g)) {
    if ((names[name] ?? name) === partitionName) return keyText(request.ExpressionAttributeValues?.[value]);
  }
  return undefined;
};
