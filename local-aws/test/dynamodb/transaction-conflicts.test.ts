import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  ThrottlingException,
  TransactionConflictException,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AWS_PARTITION_LIMITS, type PartitionLimits } from '../../dynamodb/partition-capacity.ts';
import { itemOf, keyOf, pauseWrite, startDynamoDb, TableName, type TestDynamoDb } from '../support/dynamodb.ts';

let local: TestDynamoDb;
let dynamodb: DynamoDBClient;

const start = async (partitionLimits: PartitionLimits | false) => {
  local = await startDynamoDb(partitionLimits);
  dynamodb = local.client;
};
afterEach(() => local.stop());

const putOf = (pk: string, sk = 'a') => ({ Put: { TableName, Item: keyOf(pk, sk) } });
const isNew = { ConditionExpression: 'attribute_not_exists(pk)' };
const transact = (...items: ReturnType<typeof putOf>[]) =>
  dynamodb.send(new TransactWriteItemsCommand({ TransactItems: items }));
const put = (pk: string, sk = 'a') => dynamodb.send(new PutItemCommand({ TableName, Item: keyOf(pk, sk) }));
const update = (pk: string) => dynamodb.send(new UpdateItemCommand({ TableName, Key: keyOf(pk) }));
const del = (pk: string) => dynamodb.send(new DeleteItemCommand({ TableName, Key: keyOf(pk) }));
const get = async (pk: string, sk = 'a') =>
  (await dynamodb.send(new GetItemCommand({ TableName, Key: keyOf(pk, sk) }))).Item;

const conflict = { Code: 'TransactionConflict', Message: 'Transaction is ongoing for the item' };
const cancelled = (...CancellationReasons: object[]) => ({ name: 'TransactionCanceledException', CancellationReasons });

describe('during a transaction', () => {
  let transaction: Promise<unknown>;
  let release: () => void;

  beforeEach(async () => {
    await start(false);
    await put('b');
    const pause = await pauseWrite(local.store, 'b');
    release = pause.release;
    transaction = transact(putOf('a'), putOf('b'));
    await pause.reached;
  });
  afterEach(async () => {
    release();
    await transaction;
  });

  it.each([
    ['PutItem', put],
    ['UpdateItem', update],
    ['DeleteItem', del],
  ])('a %s of its items fails with TransactionConflictException', async (_, write) => {
    for (const pk of ['a', 'b']) {
      await expect(write(pk)).rejects.toBeInstanceOf(TransactionConflictException);
    }
    release();
    await transaction;
    await write('a');
  });

  it('another transaction with one of its items is cancelled', async () => {
    await expect(transact(putOf('c'), putOf('a'))).rejects.toMatchObject(cancelled({ Code: 'None' }, conflict));
    await transact(putOf('c'));
  });

  it('another transaction reports failed conditions together with the conflict', async () => {
    await put('taken');
    const taken = { Put: { TableName, Item: keyOf('taken'), ...isNew } };
    await expect(transact(taken, putOf('a'))).rejects.toMatchObject(
      cancelled({ Code: 'ConditionalCheckFailed' }, conflict),
    );
  });

  it('a batch leaves its items unprocessed and writes the others', async () => {
    const writeOf = (pk: string) => ({ PutRequest: { Item: keyOf(pk) } });
    const batch = (...pks: string[]) =>
      dynamodb.send(new BatchWriteItemCommand({ RequestItems: { [TableName]: pks.map(writeOf) } }));
    expect((await batch('a', 'c')).UnprocessedItems).toEqual({ [TableName]: [writeOf('a')] });
    expect((await batch('a')).UnprocessedItems).toEqual({ [TableName]: [writeOf('a')] });
    expect(await get('c')).toEqual(keyOf('c'));
  });

  it('reads of its items wait and return what it writes', async () => {
    const Keys = [keyOf('a')];
    const query = { KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': { S: 'a' } } };
    const reads = [
      get('a'),
      dynamodb
        .send(new BatchGetItemCommand({ RequestItems: { [TableName]: { Keys } } }))
        .then((r) => r.Responses?.[TableName]?.[0]),
      dynamodb.send(new QueryCommand({ TableName, ...query })).then((r) => r.Items?.[0]),
      dynamodb.send(new ScanCommand({ TableName })).then((r) => r.Items?.find(({ pk }) => pk?.S === 'a')),
    ];
    let isRead = false;
    for (const read of reads) void read.then(() => (isRead = true));
    // Another item is read at once.
    expect(await get('c')).toBeUndefined();
    expect(isRead).toBe(false);
    release();
    expect(await Promise.all(reads)).toEqual(reads.map(() => keyOf('a')));
  });
});

describe('an injected conflict', () => {
  beforeEach(() => start(false));

  it('affects the writes and transactions that match the rule, but no reads', async () => {
    const end = local.limited.conflict({ table: TableName, partitionKey: (pk) => pk === 'a' });
    await expect(put('a')).rejects.toBeInstanceOf(TransactionConflictException);
    await expect(transact(putOf('b'), putOf('a'))).rejects.toMatchObject(cancelled({ Code: 'None' }, conflict));
    expect(await get('a')).toBeUndefined();
    end();
    await put('a');
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
