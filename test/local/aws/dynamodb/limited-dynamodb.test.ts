import {
  type AttributeValue,
  BatchGetItemCommand,
  BatchWriteItemCommand,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  ThrottlingException,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LimitedDynamoDb, limitDynamoDb } from '../../../../bin/local/aws/dynamodb/limited-dynamodb.ts';
import { AWS_PARTITION_LIMITS } from '../../../../bin/local/aws/dynamodb/partition-capacity.ts';
import { createTable, dynamoDbService } from '../../../../bin/local/aws/dynamodb.ts';
import { startEndpoint, type TestEndpoint } from '../support/endpoint.ts';
import { ManualClock } from '../support/manual-clock.ts';

const TableName = 'things';
const arn = `arn:aws:dynamodb:us-east-1:000000000000:table/${TableName}`;

let clock: ManualClock;
let limited: LimitedDynamoDb;
let local: TestEndpoint;
let dynamodb: DynamoDBClient;

const start = async (partitionLimits: typeof AWS_PARTITION_LIMITS | false) => {
  clock = new ManualClock();
  limited = limitDynamoDb({ inner: dynamoDbService(), clock, partitionLimits });
  local = await startEndpoint({ dynamodb: limited.service });
  dynamodb = new DynamoDBClient(local.client);
  const names = ['pk', 'sk'];
  await createTable(dynamodb, {
    name: TableName,
    keys: names.map((AttributeName, index) => ({ AttributeName, KeyType: index === 0 ? 'HASH' : 'RANGE' })),
    attributes: names.map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
  });
};
beforeEach(() => start(AWS_PARTITION_LIMITS));
afterEach(async () => {
  dynamodb.destroy();
  await local.stop();
});

const keyOf = (pk: string, sk = 'a') => ({ pk: { S: pk }, sk: { S: sk } });
/** An item of exactly so many KB. */
const itemOf = (pk: string, sk: string, kilobytes: number): Record<string, AttributeValue> => {
  const overhead = 'pk'.length + pk.length + 'sk'.length + sk.length + 'text'.length;
  return { ...keyOf(pk, sk), text: { S: 'x'.repeat(kilobytes * 1024 - overhead) } };
};
const put = (pk: string, sk: string, kilobytes: number) =>
  dynamodb.send(new PutItemCommand({ TableName, Item: itemOf(pk, sk, kilobytes) }));
const get = (pk: string, sk = 'a', ConsistentRead = true) =>
  dynamodb.send(new GetItemCommand({ TableName, Key: keyOf(pk, sk), ConsistentRead }));

/** How often something can be done in a row before it is throttled, counted up to a limit. */
const timesUntilThrottled = async (act: () => Promise<unknown>, most = 100): Promise<number> => {
  for (let times = 0; times < most; times += 1) {
    try {
      await act();
    } catch (error) {
      if (error instanceof ThrottlingException) return times;
      throw error;
    }
  }
  return most;
};

describe('the write capacity of a partition key value', () => {
  it('is 1,000 units a second: a write takes one for each KB, and the last may overdraw', async () => {
    expect(await timesUntilThrottled(() => put('a', 'a', 300))).toBe(4);
    clock.advance(0.2);
    await expect(put('a', 'a', 1)).rejects.toBeInstanceOf(ThrottlingException);
    clock.advance(0.1);
    await put('a', 'a', 1);
  });

  it('belongs to the key alone, whichever its sort key', async () => {
    await timesUntilThrottled(() => put('a', 'a', 300));
    await expect(put('a', 'b', 1)).rejects.toBeInstanceOf(ThrottlingException);
    await put('b', 'a', 1);
    await get('a');
  });

  it('is refused as on-demand tables do, with the reason and the table', async () => {
    await timesUntilThrottled(() => put('a', 'a', 300));
    await expect(put('a', 'a', 1)).rejects.toMatchObject({
      name: 'ThrottlingException',
      throttlingReasons: [{ reason: 'TableWriteKeyRangeThroughputExceeded', resource: arn }],
    });
  });

  it('is consumed by the larger of the old and the new item, and by the old one in a deletion', async () => {
    await put('a', 'a', 300);
    clock.advance(1);
    const small = () => put('a', 'a', 1);
    await small();
    // 700 units are left: the item is small now.
    await put('a', 'a', 300);
    await put('a', 'a', 300);
    await dynamodb.send(new DeleteItemCommand({ TableName, Key: keyOf('a') }));
    await expect(small()).rejects.toBeInstanceOf(ThrottlingException);
  });

  it('is consumed by an update for the whole item', async () => {
    await put('a', 'a', 300);
    clock.advance(1);
    const update = () =>
      dynamodb.send(
        new UpdateItemCommand({
          TableName,
          Key: keyOf('a'),
          UpdateExpression: 'SET flag = :flag',
          ExpressionAttributeValues: { ':flag': { BOOL: true } },
        }),
      );
    expect(await timesUntilThrottled(update)).toBe(4);
  });

  it('is consumed by a write whose condition fails', async () => {
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
  it('is 3,000 units a second: a consistent read takes one for each 4 KB', async () => {
    await put('a', 'a', 400);
    expect(await timesUntilThrottled(() => get('a'))).toBe(30);
    await expect(get('a')).rejects.toMatchObject({
      throttlingReasons: [{ reason: 'TableReadKeyRangeThroughputExceeded', resource: arn }],
    });
    clock.advance(1);
    await get('a');
  });

  it('lasts twice as long for eventually consistent reads', async () => {
    await put('a', 'a', 400);
    expect(await timesUntilThrottled(() => get('a', 'a', false))).toBe(60);
  });

  it('is not saved by a projection', async () => {
    await put('a', 'a', 400);
    const key = () =>
      dynamodb.send(
        new GetItemCommand({ TableName, Key: keyOf('a'), ConsistentRead: true, ProjectionExpression: 'pk' }),
      );
    expect(await timesUntilThrottled(key)).toBe(30);
  });

  it('is consumed by a query for all that it reads, whatever its filter and projection leave', async () => {
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
    const { ConsumedCapacity, ...answer } = await query();
    expect(ConsumedCapacity).toBeUndefined();
    expect(answer).toMatchObject({ Count: 0, ScannedCount: 3, Items: [] });
    // 600 KB are 150 units.
    expect(await timesUntilThrottled(query)).toBe(19);
  });

  it('has no limit where the limits are switched off', async () => {
    dynamodb.destroy();
    await local.stop();
    await start(false);
    await put('a', 'a', 400);
    expect(await timesUntilThrottled(() => get('a'), 40)).toBe(40);
  });
});

describe('BatchGetItem', () => {
  const read = (keys: Record<string, AttributeValue>[], more = {}) =>
    dynamodb.send(
      new BatchGetItemCommand({ RequestItems: { [TableName]: { Keys: keys, ConsistentRead: true, ...more } } }),
    );

  it('returns the keys that are throttled as unprocessed, and the items of the others', async () => {
    await put('a', 'a', 400);
    await put('b', 'a', 1);
    await timesUntilThrottled(() => get('a'));
    const projection = { ProjectionExpression: '#p, sk', ExpressionAttributeNames: { '#p': 'pk' } };
    const { Responses, UnprocessedKeys } = await read([keyOf('a'), keyOf('b'), keyOf('absent')], projection);
    expect(Responses).toEqual({ [TableName]: [keyOf('b')] });
    expect(UnprocessedKeys).toEqual({ [TableName]: { Keys: [keyOf('a')], ConsistentRead: true, ...projection } });
  });

  it('fails only when every key is throttled', async () => {
    await put('a', 'a', 400);
    await timesUntilThrottled(() => get('a'));
    await expect(read([keyOf('a'), keyOf('a', 'b')])).rejects.toMatchObject({
      name: 'ThrottlingException',
      throttlingReasons: [{ reason: 'TableReadKeyRangeThroughputExceeded', resource: arn }],
    });
  });

  it('counts each item by itself, so that one request can exhaust a key', async () => {
    const keys = Array.from({ length: 40 }, (_, index) => keyOf('a', `s${index}`));
    for (const { sk } of keys) {
      await put('a', sk.S, 390);
      clock.advance(1);
    }
    const { Responses, UnprocessedKeys } = await read(keys);
    // 98 units each: the 31st uses up the 3,000.
    expect(Responses?.[TableName]).toHaveLength(31);
    expect(UnprocessedKeys?.[TableName]?.Keys).toEqual(keys.slice(31));
  });

  it('returns up to 16 MB, and the other keys as unprocessed', async () => {
    const keys = Array.from({ length: 45 }, (_, index) => keyOf(`p${index}`));
    for (const { pk } of keys) await put(pk.S, 'a', 400);
    const { Responses, UnprocessedKeys } = await read(keys);
    expect(Responses?.[TableName]).toHaveLength(40);
    expect(UnprocessedKeys?.[TableName]?.Keys).toEqual(keys.slice(40));
  });

  it('still refuses a key that is named twice', async () => {
    await expect(read([keyOf('a'), keyOf('a')])).rejects.toMatchObject({ name: 'ValidationException' });
  });
});

describe('BatchWriteItem', () => {
  const write = (...items: Record<string, AttributeValue>[]) =>
    dynamodb.send(
      new BatchWriteItemCommand({ RequestItems: { [TableName]: items.map((Item) => ({ PutRequest: { Item } })) } }),
    );

  it('returns the writes to throttled keys as unprocessed, and does the others', async () => {
    await timesUntilThrottled(() => put('a', 'a', 300));
    const refused = itemOf('a', 'b', 1);
    const { UnprocessedItems } = await write(refused, itemOf('b', 'a', 1));
    expect(UnprocessedItems).toEqual({ [TableName]: [{ PutRequest: { Item: refused } }] });
    expect((await get('b')).Item).toBeDefined();
    expect((await get('a', 'b')).Item).toBeUndefined();
  });

  it('fails only when every write is throttled', async () => {
    await timesUntilThrottled(() => put('a', 'a', 300));
    await expect(write(itemOf('a', 'b', 1), itemOf('a', 'c', 1))).rejects.toBeInstanceOf(ThrottlingException);
  });

  it('counts each write by the larger of the old and the new item', async () => {
    await write(...['a', 'b', 'c'].map((sk) => itemOf('a', sk, 390)));
    clock.advance(2);
    const deletions = ['a', 'b', 'c', 'd'].map((sk) => ({ DeleteRequest: { Key: keyOf('a', sk) } }));
    const { UnprocessedItems } = await dynamodb.send(
      new BatchWriteItemCommand({ RequestItems: { [TableName]: deletions } }),
    );
    expect(UnprocessedItems).toEqual({ [TableName]: deletions.slice(3) });
  });
});

describe('throttling on demand', () => {
  it('refuses a whole table, for a reason that is not its keys', async () => {
    const release = limited.throttle({ table: TableName });
    const refused = (reason: string) => ({
      name: 'ThrottlingException',
      throttlingReasons: [{ reason, resource: arn }],
    });
    await expect(get('a')).rejects.toMatchObject(refused('TableReadAccountLimitExceeded'));
    await expect(put('a', 'a', 1)).rejects.toMatchObject(refused('TableWriteAccountLimitExceeded'));
    await expect(dynamodb.send(new ScanCommand({ TableName }))).rejects.toMatchObject(
      refused('TableReadAccountLimitExceeded'),
    );
    release();
    await put('a', 'a', 1);
  });

  it('does not touch another table', async () => {
    limited.throttle({ table: 'others' });
    await put('a', 'a', 1);
  });

  it('refuses chosen keys, such as all of one tenant', async () => {
    await put('tenant-b', 'a', 1);
    limited.throttle({ partitionKey: (key) => key.startsWith('tenant-a') });
    await expect(get('tenant-a#1')).rejects.toMatchObject({
      throttlingReasons: [{ reason: 'TableReadKeyRangeThroughputExceeded', resource: arn }],
    });
    const Keys = [keyOf('tenant-a#1'), keyOf('tenant-b')];
    const batch = await dynamodb.send(new BatchGetItemCommand({ RequestItems: { [TableName]: { Keys } } }));
    expect(batch.Responses?.[TableName]).toHaveLength(1);
    expect(batch.UnprocessedKeys?.[TableName]?.Keys).toEqual([keyOf('tenant-a#1')]);
  });

  it('can be narrowed to reads or writes, and to one function', async () => {
    limited.throttle({ operation: 'write', caller: 'test' });
    limited.throttle({ operation: 'read', caller: 'another' });
    await get('a');
    await expect(put('a', 'a', 1)).rejects.toBeInstanceOf(ThrottlingException);
  });
});

describe('what DynamoDB refuses', () => {
  const lone = 'cut \ud83d';

  it.each([
    ['a value', { text: { S: lone } }],
    ['a name', { [lone]: { S: '' } }],
    ['a nested value', { list: { L: [{ M: { text: { S: lone } } }] } }],
  ])('a lone surrogate in %s, which has no UTF-8 form', async (_, attributes) => {
    const writing = dynamodb.send(new PutItemCommand({ TableName, Item: { ...keyOf('a'), ...attributes } }));
    await expect(writing).rejects.toMatchObject({ name: 'SerializationException', $metadata: { httpStatusCode: 400 } });
  });

  it('no pair of surrogates, however it is escaped', async () => {
    await dynamodb.send(new PutItemCommand({ TableName, Item: { ...keyOf('a'), text: { S: '🔥' } } }));
    const answer = await fetch(local.client.endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': 'DynamoDB_20120810.PutItem',
        'x-amz-date': '20260101T000000Z',
        authorization: 'AWS4-HMAC-SHA256 Credential=local/d/r/s/aws4_request, SignedHeaders=a, Signature=b',
      },
      body: JSON.stringify({ TableName, Item: { ...keyOf('b'), text: { S: '🔥' } } }).replace('🔥', '\\ud83d\\udd25'),
    });
    expect(answer.status).toBe(200);
    expect((await get('b')).Item?.text).toEqual((await get('a')).Item?.text);
  });

  it('an item of more than 400 KB in UTF-8', async () => {
    const Item = { ...keyOf('a'), text: { S: 'ä'.repeat(250_000) } };
    const refused = { name: 'ValidationException', message: 'Item size has exceeded the maximum allowed size' };
    await expect(dynamodb.send(new PutItemCommand({ TableName, Item }))).rejects.toMatchObject(refused);
    const RequestItems = { [TableName]: [{ PutRequest: { Item } }] };
    await expect(dynamodb.send(new BatchWriteItemCommand({ RequestItems }))).rejects.toMatchObject(refused);
  });
});
