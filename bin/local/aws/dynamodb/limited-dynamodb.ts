import type { z } from 'zod';
import type { AwsCall, AwsResponse, AwsService } from '../aws-service.ts';
import type { Clock } from '../clock.ts';
import { batchGet } from './batch-get.ts';
import { batchWrite } from './batch-write.ts';
import type { CallContext } from './context.ts';
import { malformedTextError } from './malformed-text.ts';
import { PartitionCapacity, type PartitionLimits } from './partition-capacity.ts';
import { parsed } from './protocol.ts';
import { query, scan } from './query.ts';
import { describedTable, requests } from './requests.ts';
import { deleteItem, getItem, putItem, updateItem } from './single-items.ts';
import { StoredItems, type TableKey } from './stored-items.ts';
import { Throttling, type ThrottlingRule } from './throttling.ts';

/** Options of the limits. */
export type LimitOptions = {
  /** DynamoDB without limits. All requests must pass through the limited service. */
  inner: AwsService;
  clock: Clock;
  /** The capacity of a partition key value; `false` for no limit. */
  partitionLimits: PartitionLimits | false;
};

/** DynamoDB with the limits of AWS. */
export type LimitedDynamoDb = {
  service: AwsService;
  /** Throttles the accesses that match the rule until the returned function is called. */
  throttle(rule: ThrottlingRule): () => void;
};

const keyOf = ({ KeySchema }: z.infer<typeof describedTable>['Table']): TableKey | undefined => {
  const named = (type: 'HASH' | 'RANGE') => KeySchema.find(({ KeyType }) => KeyType === type)?.AttributeName;
  const partition = named('HASH');
  return partition === undefined ? undefined : { partition, sort: named('RANGE') };
};

const createTable = async ({ call, inner, items }: CallContext): Promise<AwsResponse> => {
  const response = await inner(call);
  const request = parsed(requests.CreateTable, call.body);
  const key = request && keyOf(request);
  if (response.status === 200 && key) items.addTable(request.TableName, key);
  return response;
};

/** The keys of a table that exists since an earlier start become known when it is described. */
const describeTable = async ({ call, inner, items }: CallContext): Promise<AwsResponse> => {
  const response = await inner(call);
  const table = response.status === 200 ? parsed(describedTable, response.body)?.Table : undefined;
  const key = table && keyOf(table);
  if (key && !items.keyOf(table.TableName)) items.addTable(table.TableName, key);
  return response;
};

const deleteTable = async ({ call, inner, items }: CallContext): Promise<AwsResponse> => {
  const response = await inner(call);
  const request = parsed(requests.DeleteTable, call.body);
  if (response.status === 200 && request) items.removeTable(request.TableName);
  return response;
};

const HANDLERS = new Map<string, (context: CallContext) => Promise<AwsResponse>>([
  ['CreateTable', createTable],
  ['DescribeTable', describeTable],
  ['DeleteTable', deleteTable],
  ['GetItem', getItem],
  ['PutItem', putItem],
  ['UpdateItem', updateItem],
  ['DeleteItem', deleteItem],
  ['BatchGetItem', batchGet],
  ['BatchWriteItem', batchWrite],
  ['Query', query],
  ['Scan', scan],
]);

/**
 * Adds the limits of AWS to a DynamoDB without limits: capacity per partition key value, sizes in bytes, valid UTF-8.
 */
export const limitDynamoDb = ({ inner, clock, partitionLimits }: LimitOptions): LimitedDynamoDb => {
  const items = new StoredItems();
  const throttling = new Throttling(partitionLimits ? new PartitionCapacity(partitionLimits, clock) : undefined);
  return {
    async service(call: AwsCall) {
      const run = HANDLERS.get(call.action);
      return malformedTextError(call.body) ?? (run ? run({ call, inner, items, throttling }) : inner(call));
    },
    throttle: (rule) => throttling.add(rule),
  };
};
