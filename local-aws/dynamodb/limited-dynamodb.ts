import type { Store } from 'dynalite/db/index.js';
import type { z } from 'zod';
import type { AwsCall, AwsResponse, AwsService } from '../aws-service.ts';
import type { Clock } from '../clock.ts';
import { type AccessRule, AccessRules } from './access-rule.ts';
import { batchGet } from './batch-get.ts';
import { batchWrite } from './batch-write.ts';
import type { CallContext, Database } from './context.ts';
import { dynaliteService, respond } from './dynalite.ts';
import { ItemLocks } from './item-locks.ts';
import { malformedTextError } from './malformed-text.ts';
import { PartitionCapacity, type PartitionLimits } from './partition-capacity.ts';
import { parsed } from './protocol.ts';
import { query, scan } from './query.ts';
import { RequestTokens } from './request-tokens.ts';
import { describedTable, requests } from './requests.ts';
import { deleteItem, getItem, putItem, updateItem } from './single-items.ts';
import { StoredItems, type TableKey } from './stored-items.ts';
import { Throttling } from './throttling.ts';
import { transactWrite } from './transact-write.ts';

/** Options of the limits. */
export type LimitOptions = {
  /** The tables, which only the returned service may use. */
  store: Store;
  clock: Clock;
  /** The capacity of a partition key value; `false` for no limit. */
  partitionLimits: PartitionLimits | false;
};

/** DynamoDB with the limits of AWS. */
export type LimitedDynamoDb = {
  service: AwsService;
  /** Throttles the accesses that match the rule until the returned function is called. */
  throttle(rule: AccessRule): () => void;
  /**
   * Makes writes and transactions that match the rule conflict with a transaction until the returned function is
   * called.
   */
  conflict(rule: AccessRule): () => void;
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

const HANDLERS = new Map<string, (context: CallContext) => Promise<AwsResponse>>([
  ['CreateTable', createTable],
  ['DescribeTable', describeTable],
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

/**
 * Adds to dynalite what it lacks: transactions, and the limits of AWS on capacity per partition key value, sizes in
 * bytes and text.
 */
export const limitDynamoDb = ({ store, clock, partitionLimits }: LimitOptions): LimitedDynamoDb => {
  const throttling = new Throttling(partitionLimits ? new PartitionCapacity(partitionLimits, clock) : undefined);
  const conflicts = new AccessRules();
  const database: Database = {
    store,
    inner: dynaliteService(store),
    items: new StoredItems(),
    locks: new ItemLocks(),
    tokens: new RequestTokens(clock),
    throttling,
    conflicts,
  };
  return {
    async service(call: AwsCall) {
      const run = HANDLERS.get(call.action) ?? (() => database.inner(call));
      return malformedTextError(call.body) ?? respond(async () => run({ ...database, call }));
    },
    throttle: (rule) => throttling.add(rule),
    conflict: (rule) => conflicts.add(rule),
  };
};
