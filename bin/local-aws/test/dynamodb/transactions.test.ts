import {
  type AttributeValue,
  BatchWriteItemCommand,
  type CancellationReason,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  ScanCommand,
  ThrottlingException,
  TransactionConflictException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
  type TransactWriteItemsInput,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AWS_PARTITION_LIMITS, type PartitionLimits } from '../../dynamodb/partition-capacity.ts';
import { itemOf, keyOf, startDynamoDb, TableName, type TestDynamoDb } from '../support/dynamodb.ts';
import {
  chargesCancelledTransactions,
  countsDeletedItems,
  createProbeTable,
  reusesTokensOfCancelled,
} from '../support/transaction-probes.ts';

let local: TestDynamoDb;
let dynamodb: DynamoDBClient;

const useDynamoDb = (partitionLimits: PartitionLimits | false): void =>
  beforeEach(async () => {
    local = await startDynamoDb(partitionLimits);
    dynamodb = local.client;
  });
afterEach(() => local.stop());

const put = (pk: string, attributes: Record<string, AttributeValue> = {}, ConditionExpression?: string) => ({
  Put: { TableName, Item: { ...keyOf(pk), ...attributes }, ConditionExpression },
});
const putLarge = (pk: string, kilobytes: number) => ({ Put: { TableName, Item: itemOf(pk, 'a', kilobytes) } });
const add = (pk: string) => ({
  Update: { TableName, Key: keyOf(pk), UpdateExpression: 'ADD n :n', ExpressionAttributeValues: { ':n': { N: '1' } } },
});
const transact = (items: TransactWriteItem[], more: Partial<TransactWriteItemsInput> = {}) =>
  dynamodb.send(new TransactWriteItemsCommand({ TransactItems: items, ...more }));
const get = async (pk: string) => (await dynamodb.send(new GetItemCommand({ TableName, Key: keyOf(pk) }))).Item;
const putItem = (pk: string) => dynamodb.send(new PutItemCommand({ TableName, Item: keyOf(pk) }));
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

/** The error for a transaction that was cancelled for these reasons. */
const cancelled = (...reasons: (CancellationReason | 'None')[]) => {
  const all = reasons.map((reason) => (reason === 'None' ? { Code: 'None' } : reason));
  return {
    name: 'TransactionCanceledException',
    message: `Transaction cancelled, please refer cancellation reasons for specific reasons [${all.map(({ Code }) => Code).join(', ')}]`,
    CancellationReasons: all,
  };
};

describe('TransactWriteItems', () => {
  useDynamoDb(false);

  it('is cancelled by an update that the stored item does not permit', async () => {
    await transact([put('text', { n: { S: 'text' } })]);
    const Message = 'An operand in the update expression has an incorrect data type';
    await expect(transact([put('new'), add('text')])).rejects.toMatchObject(
      cancelled('None', { Code: 'ValidationError', Message }),
    );
    const { Items = [] } = await dynamodb.send(new ScanCommand({ TableName }));
    expect(Items.map(({ pk }) => pk?.S)).toEqual(['text']);
  });

  it('has at most 4 MB of stored items, also of those that are checked', async () => {
    for (const index of numbers(11)) await transact([putLarge(`p${index}`, 400)]);
    const checks = numbers(11).map((index) => ({
      ConditionCheck: { TableName, Key: keyOf(`p${index}`), ConditionExpression: 'attribute_exists(pk)' },
    }));
    await expect(transact(checks)).rejects.toMatchObject({
      name: 'ValidationException',
      message: expect.stringContaining('Transaction payload size cannot exceed 4MB.'),
    });
    await transact(checks.slice(1));
  });

  it('applies the same transaction with a client request token once within ten minutes', async () => {
    const token = { ClientRequestToken: 'token' };
    const items = [add('counter'), put('once', {}, 'attribute_not_exists(pk)')];
    await transact(items, token);
    local.clock.advance(599);
    await transact(items, token);
    expect(await get('counter')).toMatchObject({ n: { N: '1' } });
    local.clock.advance(1);
    const conditionFailed = { Code: 'ConditionalCheckFailed', Message: 'The conditional request failed' };
    await expect(transact(items, token)).rejects.toMatchObject(cancelled('None', conditionFailed));
  });

  it('takes transactions for the same regardless of the order of attributes and set members', async () => {
    const token = { ClientRequestToken: 'token' };
    await transact([put('a', { x: { N: '1' }, y: { SS: ['1', '2'] } })], token);
    await transact([put('a', { y: { SS: ['2', '1'] }, x: { N: '1' } })], token);
  });
});

describe('an injected conflict', () => {
  useDynamoDb(false);
  let end: () => void;
  beforeEach(() => {
    end = local.dynamodb.conflict({ table: TableName, partitionKey: (pk) => pk === 'a' });
  });

  it.each([
    ['PutItem', putItem],
    ['UpdateItem', (pk: string) => dynamodb.send(new UpdateItemCommand({ TableName, Key: keyOf(pk) }))],
    ['DeleteItem', (pk: string) => dynamodb.send(new DeleteItemCommand({ TableName, Key: keyOf(pk) }))],
  ])('fails each %s that matches the rule, until it ends', async (_, write) => {
    await expect(write('a')).rejects.toBeInstanceOf(TransactionConflictException);
    await write('b');
    end();
    await write('a');
  });

  it('cancels transactions that match the rule, but affects no reads', async () => {
    const conflict = { Code: 'TransactionConflict', Message: 'Transaction is ongoing for the item' };
    await expect(transact([put('b'), put('a')])).rejects.toMatchObject(cancelled('None', conflict));
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
  useDynamoDb(AWS_PARTITION_LIMITS);

  /** Returns how many times in a row a transaction succeeds before it is throttled. */
  const timesUntilThrottled = async (items: TransactWriteItem[]): Promise<number> => {
    for (let times = 0; ; times += 1) {
      const error = await transact(items).then(
        () => undefined,
        (caught) => caught,
      );
      if (error?.CancellationReasons?.some(({ Code }: { Code: string }) => Code === 'ThrottlingError')) return times;
    }
  };

  it('is consumed twice by transactional writes, also for the item that an update creates', async () => {
    expect(await timesUntilThrottled([putLarge('a', 100)])).toBe(5);
    const update = {
      TableName,
      Key: keyOf('b'),
      UpdateExpression: 'SET x = :x',
      ExpressionAttributeValues: { ':x': { S: 'x'.repeat(102_000) } },
    };
    expect(await timesUntilThrottled([{ Update: update }])).toBe(5);
  });

  it('cancels a transaction with the reason ThrottlingError for each throttled item', async () => {
    await timesUntilThrottled([putLarge('a', 100)]);
    const throttled = {
      Code: 'ThrottlingError',
      Message: expect.stringContaining('Throughput exceeds the current capacity'),
    };
    await expect(transact([put('b'), put('a')])).rejects.toMatchObject(cancelled('None', throttled));
    await expect(putItem('a')).rejects.toBeInstanceOf(ThrottlingException);
    expect(await get('b')).toBeUndefined();
    local.clock.advance(1);
    await transact([put('b'), put('a')]);
  });
});

/** `npm run test:deployed` expects the same of AWS. */
describe('transactions of the local stack', () => {
  useDynamoDb(AWS_PARTITION_LIMITS);

  it.each([
    ['count the items that they delete towards 4 MB', countsDeletedItems],
    ['consume capacity although they are cancelled', chargesCancelledTransactions],
    ['can be applied with their token after they were cancelled', reusesTokensOfCancelled],
  ])('%s', async (_, probe) => {
    await createProbeTable(dynamodb, 'probe');
    expect(await probe(dynamodb, 'probe')).toBe(true);
  });
});
