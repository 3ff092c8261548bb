import { type AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createDynamoDb, type DynamoDb } from '../../dynamodb/dynamodb.ts';
import type { PartitionLimits } from '../../dynamodb/partition-capacity.ts';
import { createTable } from './create-table.ts';
import { startEndpoint } from './endpoint.ts';
import { ManualClock } from './manual-clock.ts';

/** The table of `startDynamoDb`, with the keys `pk` and `sk`. */
export const TableName = 'things';

/** A DynamoDB with one table, and a client whose requests are not repeated. */
export type TestDynamoDb = {
  url: string;
  client: DynamoDBClient;
  clock: ManualClock;
  dynamodb: DynamoDb;
  stop(): Promise<void>;
};

export const startDynamoDb = async (partitionLimits: PartitionLimits | false): Promise<TestDynamoDb> => {
  const clock = new ManualClock();
  const dynamodb = createDynamoDb({ clock, partitionLimits });
  const local = await startEndpoint({ dynamodb: dynamodb.service });
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
  return { url: local.client.endpoint, client, clock, dynamodb, stop };
};

export const keyOf = (pk: string, sk = 'a') => ({ pk: { S: pk }, sk: { S: sk } });

/** Returns an item of an exact size. */
export const itemOf = (pk: string, sk: string, kilobytes: number): Record<string, AttributeValue> => {
  const overhead = 'pk'.length + pk.length + 'sk'.length + sk.length + 'text'.length;
  return { ...keyOf(pk, sk), text: { S: 'x'.repeat(kilobytes * 1024 - overhead) } };
};
