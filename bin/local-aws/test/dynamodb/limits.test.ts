import {
  type AttributeValue,
  BatchGetItemCommand,
  BatchWriteItemCommand,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  ThrottlingException,
} from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AWS_PARTITION_LIMITS } from '../../dynamodb/partition-capacity.ts';
import { itemOf, keyOf, startDynamoDb, TableName, type TestDynamoDb } from '../support/dynamodb.ts';
import type { ManualClock } from '../support/manual-clock.ts';

const arn = `arn:aws:dynamodb:us-east-1:000000000000:table/${TableName}`;

let clock: ManualClock;
let dynamodb: DynamoDBClient;
let local: TestDynamoDb;

const start = async (partitionLimits: typeof AWS_PARTITION_LIMITS | false) => {
  local = await startDynamoDb(partitionLimits);
  ({ client: dynamodb, clock } = local);
};
beforeEach(() => start(AWS_PARTITION_LIMITS));
afterEach(() => local.stop());

const put = (pk: string, sk: string, kilobytes: number) =>
  dynamodb.send(new PutItemCommand({ TableName, Item: itemOf(pk, sk, kilobytes) }));
const get = (pk: string, sk = 'a', ConsistentRead = true) =>
  dynamodb.send(new GetItemCommand({ TableName, Key: keyOf(pk, sk), ConsistentRead }));

/** Returns how many consecutive calls succeed before one is throttled, at most `max`. */
const timesUntilThrottled = async (act: () => Promise<unknown>, max = 100): Promise<number> => {
  for (let times = 0; times < max; times += 1) {
    try {
      await act();
    } catch (error) {
      if (error instanceof ThrottlingException) return times;
      throw error;
    }
  }
  return max;
};

describe('the write capacity of a partition key value', () => {
  it('is 1,000 units per second, one per KB written, and the last write may overdraw it', async () => {
    expect(await timesUntilThrottled(() => put('a', 'a', 300))).toBe(4);
    clock.advance(0.2);
    await expect(put('a', 'a', 1)).rejects.toBeInstanceOf(ThrottlingException);
    clock.advance(0.1);
    await put('a', 'a', 1);
  });

  it('is shared by all sort keys but not with other keys or reads', async () => {
    await timesUntilThrottled(() => put('a', 'a', 300));
    await expect(put('a', 'b', 1)).rejects.toMatchObject({
      name: 'ThrottlingException',
      throttlingReasons: [{ reason: 'TableWriteKeyRangeThroughputExceeded', resource: arn }],
    });
    await put('b', 'a', 1);
    await get('a');
  });

  it('is consumed for the larger of the old and the new item, and for the old item in a deletion', async () => {
    await put('a', 'a', 300);
    clock.advance(1);
    const small = () => put('a', 'a', 1);
    await small();
    // 700 units remain, and the stored item is small.
    await put('a', 'a', 300);
    await put('a', 'a', 300);
    await dynamodb.send(new DeleteItemCommand({ TableName, Key: keyOf('a') }));
    await expect(small()).rejects.toBeInstanceOf(ThrottlingException);
  });

  it('is consumed by a write with a failed condition', async () => {
    await put('a', 'a', 300);
    clock.advance(1);
    const condition = { ConditionExpression: 'attribute_not_exists(pk)' };
    const create = () =>
      dynamodb.send(new PutItemCommand({ TableName, Item: itemOf('a', 'a', 1), ...condition })).catch((error) => {
        if (!(error instanceof ConditionalCheckFailedException)) throw error;
      });
    expect(await timesUntilThrottled(create)).toBe(4);
  });
});

describe('the read capacity of a partition key value', () => {
  it('is 3,000 units per second, one per 4 KB of a consistent read, half of it of an eventually consistent one', async () => {
    await put('a', 'a', 400);
    expect(await timesUntilThrottled(() => get('a'))).toBe(30);
    await expect(get('a')).rejects.toMatchObject({
      throttlingReasons: [{ reason: 'TableReadKeyRangeThroughputExceeded', resource: arn }],
    });
    clock.advance(1);
    expect(await timesUntilThrottled(() => get('a', 'a', false))).toBe(60);
  });

  it('is consumed for all items that a query reads, before filter and projection', async () => {
    for (const sk of ['a', 'b', 'c']) await put('a', sk, 200);
    const query = () =>
      dynamodb.send(
        new QueryCommand({
          TableName,
          ConsistentRead: true,
          KeyConditionExpression: '#p = :p',
          FilterExpression: 'color = :none',
          ProjectionExpression: 'pk',
          ExpressionAttributeNames: { '#p': 'pk' },
          ExpressionAttributeValues: { ':p': { S: 'a' }, ':none': { S: 'none' } },
        }),
      );
    const { ConsumedCapacity, ...result } = await query();
    expect(ConsumedCapacity).toBeUndefined();
    expect(result).toMatchObject({ Count: 0, ScannedCount: 3, Items: [] });
    // 600 KB consume 150 units.
    expect(await timesUntilThrottled(query)).toBe(19);
  });
});

describe('BatchGetItem', () => {
  const read = (keys: Record<string, AttributeValue>[], more = {}) =>
    dynamodb.send(
      new BatchGetItemCommand({ RequestItems: { [TableName]: { Keys: keys, ConsistentRead: true, ...more } } }),
    );

  it('returns throttled keys as unprocessed and the items of the other keys', async () => {
    await put('a', 'a', 400);
    await put('b', 'a', 1);
    await timesUntilThrottled(() => get('a'));
    const projection = { ProjectionExpression: '#p, sk', ExpressionAttributeNames: { '#p': 'pk' } };
    const { Responses, UnprocessedKeys } = await read([keyOf('a'), keyOf('b'), keyOf('absent')], projection);
    expect(Responses).toEqual({ [TableName]: [keyOf('b')] });
    expect(UnprocessedKeys).toEqual({ [TableName]: { Keys: [keyOf('a')], ConsistentRead: true, ...projection } });
  });

  it('fails only if every key is throttled', async () => {
    await put('a', 'a', 400);
    await timesUntilThrottled(() => get('a'));
    await expect(read([keyOf('a'), keyOf('a', 'b')])).rejects.toMatchObject({
      name: 'ThrottlingException',
      throttlingReasons: [{ reason: 'TableReadKeyRangeThroughputExceeded', resource: arn }],
    });
  });

  it('consumes units per item, so one request can exhaust a key', async () => {
    const keys = Array.from({ length: 40 }, (_, index) => keyOf('a', `s${index}`));
    for (const { sk } of keys) {
      await put('a', sk.S, 390);
      clock.advance(1);
    }
    const { Responses, UnprocessedKeys } = await read(keys);
    // Each item consumes 98 units, so the 31st exhausts the 3,000 units.
    expect(Responses?.[TableName]).toHaveLength(31);
    expect(UnprocessedKeys?.[TableName]?.Keys).toEqual(keys.slice(31));
  });

  it('returns up to 16 MB and the remaining keys as unprocessed', async () => {
    const keys = Array.from({ length: 45 }, (_, index) => keyOf(`p${index}`));
    for (const { pk } of keys) await put(pk.S, 'a', 400);
    const { Responses, UnprocessedKeys } = await read(keys);
    expect(Responses?.[TableName]).toHaveLength(40);
    expect(UnprocessedKeys?.[TableName]?.Keys).toEqual(keys.slice(40));
  });
});

describe('BatchWriteItem', () => {
  const write = (...items: Record<string, AttributeValue>[]) =>
    dynamodb.send(
      new BatchWriteItemCommand({ RequestItems: { [TableName]: items.map((Item) => ({ PutRequest: { Item } })) } }),
    );

  it('returns writes to throttled keys as unprocessed and applies the others', async () => {
    await timesUntilThrottled(() => put('a', 'a', 300));
    const throttled = itemOf('a', 'b', 1);
    const { UnprocessedItems } = await write(throttled, itemOf('b', 'a', 1));
    expect(UnprocessedItems).toEqual({ [TableName]: [{ PutRequest: { Item: throttled } }] });
    expect((await get('b')).Item).toBeDefined();
    expect((await get('a', 'b')).Item).toBeUndefined();
  });

  it('fails only if every write is throttled', async () => {
    await timesUntilThrottled(() => put('a', 'a', 300));
    await expect(write(itemOf('a', 'b', 1), itemOf('a', 'c', 1))).rejects.toBeInstanceOf(ThrottlingException);
  });
});

describe('a throttling rule', () => {
  it('throttles a whole table with the reason AccountLimitExceeded', async () => {
    local.dynamodb.throttle({ table: 'others' });
    await put('a', 'a', 1);
    const release = local.dynamodb.throttle({ table: TableName });
    const throttled = (reason: string) => ({
      name: 'ThrottlingException',
      throttlingReasons: [{ reason, resource: arn }],
    });
    await expect(get('a')).rejects.toMatchObject(throttled('TableReadAccountLimitExceeded'));
    await expect(put('a', 'a', 1)).rejects.toMatchObject(throttled('TableWriteAccountLimitExceeded'));
    await expect(dynamodb.send(new ScanCommand({ TableName }))).rejects.toMatchObject(
      throttled('TableReadAccountLimitExceeded'),
    );
    release();
    await put('a', 'a', 1);
  });

  it('throttles matching keys, such as those of one tenant', async () => {
    await put('tenant-b', 'a', 1);
    local.dynamodb.throttle({ partitionKey: (key) => key.startsWith('tenant-a') });
    await expect(get('tenant-a#1')).rejects.toMatchObject({
      throttlingReasons: [{ reason: 'TableReadKeyRangeThroughputExceeded', resource: arn }],
    });
    const Keys = [keyOf('tenant-a#1'), keyOf('tenant-b')];
    const batch = await dynamodb.send(new BatchGetItemCommand({ RequestItems: { [TableName]: { Keys } } }));
    expect(batch.Responses?.[TableName]).toHaveLength(1);
    expect(batch.UnprocessedKeys?.[TableName]?.Keys).toEqual([keyOf('tenant-a#1')]);
  });

  it('applies only to its operation and caller', async () => {
    local.dynamodb.throttle({ operation: 'write', caller: 'test' });
    local.dynamodb.throttle({ operation: 'read', caller: 'another' });
    await get('a');
    await expect(put('a', 'a', 1)).rejects.toBeInstanceOf(ThrottlingException);
  });
});

describe('DynamoDB validation', () => {
  const loneSurrogate = 'cut \ud83d';

  it.each([
    ['a value', { text: { S: loneSurrogate } }],
    ['a name', { [loneSurrogate]: { S: '' } }],
    ['a nested value', { list: { L: [{ M: { text: { S: loneSurrogate } } }] } }],
  ])('rejects a lone surrogate in %s', async (_, attributes) => {
    const writing = dynamodb.send(new PutItemCommand({ TableName, Item: { ...keyOf('a'), ...attributes } }));
    await expect(writing).rejects.toMatchObject({ name: 'SerializationException', $metadata: { httpStatusCode: 400 } });
  });

  it('accepts an escaped surrogate pair', async () => {
    await dynamodb.send(new PutItemCommand({ TableName, Item: { ...keyOf('a'), text: { S: '🔥' } } }));
    const response = await fetch(local.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': 'DynamoDB_20120810.PutItem',
        'x-amz-date': '20260101T000000Z',
        authorization:
          'AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=a, Signature=b',
      },
      body: JSON.stringify({ TableName, Item: { ...keyOf('b'), text: { S: '🔥' } } }).replace('🔥', '\\ud83d\\udd25'),
    });
    expect(response.status).toBe(200);
    expect((await get('b')).Item?.text).toEqual((await get('a')).Item?.text);
  });
});
