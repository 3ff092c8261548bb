import { isUtf8 } from 'node:buffer';
import { type AwsCall, type AwsResponse, jsonFault, jsonResult } from '../aws-service.ts';
import type { Clock } from '../clock.ts';
import { type AccessRule, AccessRules } from './access-rule.ts';
import { batchGet, batchWrite } from './batches.ts';
import type { Context } from './context.ts';
import { DynamoDbError, serializationError } from './errors.ts';
import { query, scan } from './pages.ts';
import { PartitionCapacity, type PartitionLimits } from './partition-capacity.ts';
import { RequestTokens } from './request-tokens.ts';
import { deleteItem, getItem, putItem, updateItem } from './single-items.ts';
import { createTable, describeTable, listTables } from './table-operations.ts';
import { Tables } from './tables.ts';
import { Throttling } from './throttling.ts';
import { transactWrite } from './transact-write.ts';

export type DynamoDbOptions = {
  tables?: Tables;
  /** Refills capacity, and ends the validity of tokens. */
  clock: Clock;
  /** The capacity of a partition key value; `false` for no limit. */
  partitionLimits: PartitionLimits | false;
};

export type DynamoDb = {
  /** Responds synchronously. The same requests at the same times get the same responses. */
  service: (call: Pick<AwsCall, 'action' | 'caller' | 'body' | 'input'>) => AwsResponse;
  /** Throttles the accesses that match the rule until the returned function is called. */
  throttle(rule: AccessRule): () => void;
  /**
   * Makes writes and transactions that match the rule conflict with a transaction until the returned function is
   * called.
   */
  conflict(rule: AccessRule): () => void;
};

const OPERATIONS = new Map<string, (context: Context, parameters: unknown) => object>([
  ['CreateTable', createTable],
  ['DescribeTable', describeTable],
  ['ListTables', listTables],
  ['GetItem', getItem],
  ['PutItem', putItem],
  ['UpdateItem', updateItem],
  ['DeleteItem', deleteItem],
  ['BatchGetItem', batchGet],
  ['BatchWriteItem', batchWrite],
  ['Query', query],
  ['Scan', scan],
  ['TransactWriteItems', transactWrite],
]);

export const createDynamoDb = ({ tables = new Tables(), clock, partitionLimits }: DynamoDbOptions): DynamoDb => {
  const database: Omit<Context, 'caller'> = {
    tables,
    throttling: new Throttling(partitionLimits ? new PartitionCapacity(partitionLimits, clock) : undefined),
    conflicts: new AccessRules(),
    tokens: new RequestTokens(clock),
  };
  return {
    service(call) {
      const run = OPERATIONS.get(call.action);
      if (!run) {
        return jsonFault({ status: 400, type: 'com.amazon.coral.service#UnknownOperationException', message: '' });
      }
      try {
        return jsonResult(run({ ...database, caller: call.caller }, call.input ?? parse(call.body)));
      } catch (error) {
        if (error instanceof DynamoDbError) return error.response;
        throw error;
      }
    },
    throttle: (rule) => database.throttling.add(rule),
    conflict: (rule) => database.conflicts.add(rule),
  };
};

const parse = (body: Buffer): unknown => {
  if (!isUtf8(body)) throw serializationError('The request is not valid UTF-8.');
  try {
    return JSON.parse(body.toString());
  } catch {
    throw serializationError('The request is not JSON.');
  }
};
