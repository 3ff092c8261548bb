import {
  BatchWriteItemCommand,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  ThrottlingException,
  TransactionConflictException,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AWS_PARTITION_LIMITS, type PartitionLimits } from '../../dynamodb/partition-capacity.ts';
import { itemOf, keyOf, startDynamoDb, TableName, type TestDynamoDb } from '../support/dynamodb.ts';

let local: TestDynamoDb;
let dynamodb: DynamoDBClient;

const start = async (partitionLimits: PartitionLimits | false) => {
  local = await startDynamoDb(partitionLimits);
  dynamodb = local.client;
};
afterEach(() => local.stop());

const putOf = (pk: string, sk = 'a') => ({ Put: { TableName, Item: keyOf(pk, sk) } });
const transact = (...items: ReturnType<typeof putOf>[]) =>
  dynamodb.send(new TransactWriteItemsCommand({ TransactItems: items }));
const put = (pk: string, sk = 'a') => dynamodb.send(new PutItemCommand({ TableName, Item: keyOf(pk, sk) }));
const update = (pk: string) => dynamodb.send(new UpdateItemCommand({ TableName, Key: keyOf(pk) }));
const del = (pk: string) => dynamodb.send(new DeleteItemCommand({ TableName, Key: keyOf(pk) }));
const get = async (pk: string, sk = 'a') =>
  (await dynamodb.send(new GetItemCommand({ TableName, Key: keyOf(pk, sk) }))).Item;

const conflict = { Code: 'TransactionConflict', Message: 'Transaction is ongoing for the item' };
const cancelled = (...CancellationReasons: object[]) => ({ name: 'TransactionCanceledException', CancellationReasons });

describe('an injected conflict', () => {
  let end: () => void;
  beforeEach(async () => {
    await start(false);
    end = local.dynamodb.conflict({ table: TableName, partitionKey: (pk) => pk === 'a' });
  });

  it.each([
    ['PutItem', put],
    ['UpdateItem', update],
    ['DeleteItem', del],
  ])('fails each %s that matches the rule, until it ends', async (_, write) => {
    await expect(write('a')).rejects.toBeInstanceOf(TransactionConflictException);
    await write('b');
    end();
    await write('a');
  });

  it('cancels transactions that match the rule, but affects no reads', async () => {
    await expect(transact(putOf('b'), putOf('a'))).rejects.toMatchObject(cancelled({ Code: 'None' }, conflict));
    expect(await get('a')).toBeUndefined();
  });

  it('leaves items of a batch unprocessed and writes the others', async () => {
    const writeOf = (pk: string) => ({ PutRequest: { Item: keyOf(pk) } });
    const batch = (...pks: string[]) =>
      dynamodb.send(new BatchWriteItemCommand({ RequestItems: { [TableName]: pks.map(writeOf) } }));
    expect((await batch('a', 'c')).UnprocessedItems).toEqual({ [TableName]: [writeOf('a')] });
    expect((await batch('a')).UnprocessedItems).toEqual({ [TableName]: [writeOf('a')] });
    expect(await get('c')).toEqual(keyOf('c'));
  });
});

describe('the capacity of a partition key value', () => {
  const THROTTLED = {
    Code: 'ThrottlingError',
    Message: expect.stringContaining('Throughput exceeds the current capacity'),
  };
  beforeEach(() => start(AWS_PARTITION_LIMITS));

  /** Returns how many times in a row a request succeeds or fails its condition before it is throttled. */
  const timesUntilThrottled = async (act: () => Promise<unknown>): Promise<number> => {
    for (let times = 0; ; times += 1) {
      const reason = await act().then(
        () => undefined,
        (error) =>
          error.CancellationReasons?.find(({ Code }: { Code: string }) => Code === 'ThrottlingError') ?? undefined,
      );
      if (reason) return times;
    }
  };
  const putLarge = (pk: string) =>
    dynamodb.send(
      new TransactWriteItemsCommand({
        TransactItems: [{ Put: { TableName, Item: itemOf(pk, 'a', 100) } }],
      }),
    );

  it('is consumed twice by transactional writes', async () => {
    expect(await timesUntilThrottled(() => putLarge('a'))).toBe(5);
  });

  it('is consumed by an update for the item that it creates', async () => {
    const update = {
      TableName,
      Key: keyOf('a'),
      UpdateExpression: 'SET x = :x',
      ExpressionAttributeValues: { ':x': { S: 'x'.repeat(102_000) } },
    };
    const act = () => dynamodb.send(new TransactWriteItemsCommand({ TransactItems: [{ Update: update }] }));
    expect(await timesUntilThrottled(act)).toBe(5);
  });

  it('cancels a transaction with the reason ThrottlingError for each throttled item', async () => {
    await timesUntilThrottled(() => putLarge('a'));
    await expect(transact(putOf('b'), putOf('a'))).rejects.toMatchObject(cancelled({ Code: 'None' }, THROTTLED));
    await expect(put('a')).rejects.toBeInstanceOf(ThrottlingException);
    expect(await get('b')).toBeUndefined();
    local.clock.advance(1);
    await transact(putOf('b'), putOf('a'));
  });
});
