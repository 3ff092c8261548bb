import { randomUUID } from 'node:crypto';
import {
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  TransactionCanceledException,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { createTable } from './create-table.ts';

const largeItem = (pk: string) => ({ pk: { S: pk }, t: { S: 'x'.repeat(409_600 - 'pkt'.length - pk.length) } });

/** Creates a table for the probes, with the partition key `pk`. */
export const createProbeTable = (client: DynamoDBClient, name: string): Promise<void> =>
  createTable(client, {
    name,
    keys: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    attributes: [{ AttributeName: 'pk', AttributeType: 'S' }],
  });

/**
 * Returns whether the items that a transaction deletes count towards its limit of 4 MB, which AWS does not document.
 * Such a transaction is rejected although its request is small.
 */
export const countsDeletedItems = async (client: DynamoDBClient, TableName: string): Promise<boolean> => {
  const keys = Array.from({ length: 11 }, (_, index) => `deleted${index}`);
  for (const key of keys) await client.send(new PutItemCommand({ TableName, Item: largeItem(key) }));
  const TransactItems = keys.map((key) => ({ Delete: { TableName, Key: { pk: { S: key } } } }));
  return client.send(new TransactWriteItemsCommand({ TransactItems })).then(
    () => false,
    (error: unknown) => {
      if (error instanceof Error && error.name === 'ValidationException') return true;
      throw error;
    },
  );
};

/**
 * Returns whether a token can be used again after its transaction was cancelled, which AWS does not document: sends a
 * transaction again when its condition is met.
 */
export const reusesTokensOfCancelled = async (client: DynamoDBClient, TableName: string): Promise<boolean> => {
  const Key = { pk: { S: 'reused' } };
  const condition = {
    Update: { TableName, Key, UpdateExpression: 'SET done = met', ConditionExpression: 'attribute_exists(met)' },
  };
  const repeated = new TransactWriteItemsCommand({ TransactItems: [condition], ClientRequestToken: randomUUID() });
  const cancelled: unknown = await client.send(repeated).catch((error) => error);
  if (!(cancelled instanceof TransactionCanceledException)) throw cancelled;
  await client.send(new PutItemCommand({ TableName, Item: { ...Key, met: { BOOL: true } } }));
  await client.send(repeated);
  const { Item } = await client.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }));
  return Item?.done !== undefined;
};

const MAX_CANCELLED = 300;

/**
 * Returns whether a transaction that is cancelled by a condition consumes capacity, which AWS does not document:
 * repeats one until its partition key is throttled. `client` must not retry.
 */
export const chargesCancelledTransactions = async (client: DynamoDBClient, TableName: string): Promise<boolean> => {
  const Item = largeItem('cancelled');
  await client.send(new PutItemCommand({ TableName, Item }));
  const Put = { TableName, Item: { pk: Item.pk }, ConditionExpression: 'attribute_not_exists(pk)' };
  for (let count = 0; count < MAX_CANCELLED; count++) {
    const error: unknown = await client
      .send(new TransactWriteItemsCommand({ TransactItems: [{ Put }] }))
      .catch((caught) => caught);
    if (isThrottled(error)) return true;
    if (!(error instanceof TransactionCanceledException)) throw error;
  }
  return false;
};

const THROTTLING = ['ThrottlingError', 'ProvisionedThroughputExceeded'];

const isThrottled = (error: unknown): boolean =>
  error instanceof TransactionCanceledException
    ? (error.CancellationReasons ?? []).some(({ Code = '' }) => THROTTLING.includes(Code))
    : error instanceof Error && /^(Throttling|ProvisionedThroughputExceeded)Exception$/.test(error.name);
