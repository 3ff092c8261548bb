import { type AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import db, { type Store } from 'dynalite/db/index.js';
import { type LimitedDynamoDb, limitDynamoDb } from '../../dynamodb/limited-dynamodb.ts';
import type { PartitionLimits } from '../../dynamodb/partition-capacity.ts';
import { tableOf } from '../../dynamodb/transaction-keys.ts';
import { createTable, memoryTables } from '../../dynamodb.ts';
import { startEndpoint } from './endpoint.ts';
import { ManualClock } from './manual-clock.ts';

/** The table of `startDynamoDb`, with the keys `pk` and `sk`. */
export const TableName = 'things';

/** A DynamoDB with one table, and a client whose requests are not repeated. */
export type TestDynamoDb = {
  url: string;
  client: DynamoDBClient;
  clock: ManualClock;
  limited: LimitedDynamoDb;
  store: Store;
  stop(): Promise<void>;
};

/** Starts a DynamoDB on a free port. */
export const startDynamoDb = async (partitionLimits: PartitionLimits | false): Promise<TestDynamoDb> => {
  const clock = new ManualClock();
  const store = memoryTables();
  const limited = limitDynamoDb({ store, clock, partitionLimits });
  const local = await startEndpoint({ dynamodb: limited.service });
  const client = new DynamoDBClient(local.client);
  const names = ['pk', 'sk'];
  await createTable(client, {
    name: TableName,
    keys: names.map((AttributeName, index) => ({ AttributeName, KeyType: index === 0 ? 'HASH' : 'RANGE' })),
    attributes: names.map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
  });
  const stop = async () => {
    client.destroy();
    await local.stop();
  };
  return { url: local.client.endpoint, client, clock, limited, store, stop };
};

export const keyOf = (pk: string, sk = 'a') => ({ pk: { S: pk }, sk: { S: sk } });

/** Returns an item of an exact size. */
export const itemOf = (pk: string, sk: string, kilobytes: number): Record<string, AttributeValue> => {
  const overhead = 'pk'.length + pk.length + 'sk'.length + sk.length + 'text'.length;
  return { ...keyOf(pk, sk), text: { S: 'x'.repeat(kilobytes * 1024 - overhead) } };
};

/**
 * Pauses the next write of an item before its condition is checked. `reached` resolves when it is paused; `release`
 * resumes it.
 */
export const pauseWrite = async (
  store: Store,
  pk: string,
): Promise<{ reached: Promise<void>; release: () => void }> => {
  const pausedKey = db.createKey(keyOf(pk), await tableOf(store, TableName));
  const items = store.getItemDb(TableName);
  const { lock } = items;
  const reached = Promise.withResolvers<void>();
  const resumed = Promise.withResolvers<void>();
  items.lock = (key, act) => {
    if (key !== pausedKey) return lock(key, act);
    items.lock = lock;
    reached.resolve();
    void resumed.promise.then(() => lock(key, act));
  };
  return { reached: reached.promise, release: resumed.resolve };
};
