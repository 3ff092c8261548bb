import {
  type AttributeValue,
  type CancellationReason,
  type DynamoDBClient,
  GetItemCommand,
  IdempotentParameterMismatchException,
  ResourceNotFoundException,
  ScanCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand,
  type TransactWriteItemsInput,
} from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { itemOf, keyOf, startDynamoDb, TableName, type TestDynamoDb } from '../support/dynamodb.ts';

let local: TestDynamoDb;
let dynamodb: DynamoDBClient;

beforeEach(async () => {
  local = await startDynamoDb(false);
  dynamodb = local.client;
});
afterEach(() => local.stop());

type Condition = Pick<
  NonNullable<TransactWriteItem['Put']>,
  'ConditionExpression' | 'ReturnValuesOnConditionCheckFailure'
>;

const put = (pk: string, attributes: Record<string, AttributeValue> = {}, condition: Condition = {}) => ({
  Put: { TableName, Item: { ...keyOf(pk), ...attributes }, ...condition },
});
const putLarge = (pk: string, kilobytes: number) => ({ Put: { TableName, Item: itemOf(pk, 'a', kilobytes) } });
const del = (pk: string, condition: Condition = {}) => ({ Delete: { TableName, Key: keyOf(pk), ...condition } });
const add = (pk: string, value: AttributeValue = { N: '1' }) => ({
  Update: {
    TableName,
    Key: keyOf(pk),
    UpdateExpression: 'ADD n :n',
    ExpressionAttributeValues: { ':n': value },
  },
});
const check = (pk: string, ConditionExpression: string) => ({
  ConditionCheck: { TableName, Key: keyOf(pk), ConditionExpression },
});
const isNew = { ConditionExpression: 'attribute_not_exists(pk)' };

const transact = (items: TransactWriteItem[], more: Partial<TransactWriteItemsInput> = {}) =>
  dynamodb.send(new TransactWriteItemsCommand({ TransactItems: items, ...more }));
const get = async (pk: string) => (await dynamodb.send(new GetItemCommand({ TableName, Key: keyOf(pk) }))).Item;
const stored = async () => {
  const { Items = [] } = await dynamodb.send(new ScanCommand({ TableName }));
  return Items.map(({ pk }) => pk?.S).toSorted();
};
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
const conditionFailed = { Code: 'ConditionalCheckFailed', Message: 'The conditional request failed' };
const invalid = (message: string) => ({ name: 'ValidationException', message: expect.stringContaining(message) });

describe('TransactWriteItems', () => {
  it('puts, updates, deletes and checks items together', async () => {
    await transact([put('deleted'), put('updated', { n: { N: '1' } }), put('checked')]);
    await transact([put('new'), add('updated'), del('deleted'), check('checked', 'attribute_exists(pk)')]);
    expect(await stored()).toEqual(['checked', 'new', 'updated']);
    expect(await get('updated')).toEqual({ ...keyOf('updated'), n: { N: '2' } });
  });

  it('writes nothing if one condition fails, and gives one reason for each item in their order', async () => {
    await transact([put('taken')]);
    const attempt = transact([
      put('first'),
      put('taken', { n: { N: '1' } }, isNew),
      check('none', 'attribute_exists(pk)'),
    ]);
    await expect(attempt).rejects.toMatchObject(cancelled('None', conditionFailed, conditionFailed));
    expect(await stored()).toEqual(['taken']);
    expect(await get('taken')).toEqual(keyOf('taken'));
  });

  it('returns the items whose conditions failed, if the request asks for them', async () => {
    await transact([put('taken', { n: { N: '7' } })]);
    const all = { ...isNew, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;
    const exists = {
      ConditionExpression: 'attribute_exists(pk)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    } as const;
    await expect(transact([put('taken', {}, all), del('none', exists)])).rejects.toMatchObject(
      cancelled({ ...conditionFailed, Item: { ...keyOf('taken'), n: { N: '7' } } }, conditionFailed),
    );
  });

  it('is cancelled by an update that the stored item does not permit', async () => {
    await transact([put('text', { n: { S: 'text' } })]);
    const Message = 'An operand in the update expression has an incorrect data type';
    await expect(transact([put('new'), add('text')])).rejects.toMatchObject(
      cancelled('None', { Code: 'ValidationError', Message }),
    );
    expect(await stored()).toEqual(['text']);
  });

  it('is cancelled by a key that does not match the table', async () => {
    const wrong = { Delete: { TableName, Key: { pk: { N: '1' }, sk: { S: 'a' } } } };
    const Message = 'The provided key element does not match the schema';
    await expect(transact([put('new'), wrong])).rejects.toMatchObject(
      cancelled('None', { Code: 'ValidationError', Message }),
    );
  });

  it('fails for a table that does not exist', async () => {
    const elsewhere = { Put: { TableName: 'nowhere', Item: keyOf('a') } };
    await expect(transact([put('a'), elsewhere])).rejects.toBeInstanceOf(ResourceNotFoundException);
    expect(await stored()).toEqual([]);
  });
});

describe('the limits of a transaction', () => {
  it('are 100 items', async () => {
    const puts = numbers(101).map((index) => put(`p${index}`));
    await expect(transact(puts)).rejects.toMatchObject(invalid('Member must have length less than or equal to 100'));
    await transact(puts.slice(0, 100));
    expect(await stored()).toHaveLength(100);
  });

  it('are at least one item', async () => {
    await expect(transact([])).rejects.toMatchObject(invalid('Member must have length greater than or equal to 1'));
  });

  it('permit one operation for each item', async () => {
    await expect(transact([put('a'), del('a')])).rejects.toMatchObject(
      invalid('Transaction request cannot include multiple operations on one item'),
    );
  });

  it('permit one operation in each member', async () => {
    await expect(transact([{ ...put('a'), ...del('b') }])).rejects.toMatchObject(
      invalid('TransactItems can only contain one of Check, Put, Update or Delete'),
    );
    await expect(transact([{}])).rejects.toMatchObject(
      invalid('Invalid Request: TransactWriteRequest should contain Delete or Put or Update request'),
    );
  });

  it('are 4 MB in the request', async () => {
    const puts = numbers(10).map((index) => putLarge(`p${index}`, 400));
    await transact(puts);
    await expect(transact([...puts, putLarge('last', 97)])).rejects.toMatchObject(
      invalid('Transaction payload size cannot exceed 4MB.'),
    );
  });

  it('are 4 MB of stored items, also of those that are checked', async () => {
    for (const index of numbers(11)) await transact([putLarge(`p${index}`, 400)]);
    const checks = numbers(11).map((index) => check(`p${index}`, 'attribute_exists(pk)'));
    await expect(transact(checks)).rejects.toMatchObject(invalid('Transaction payload size cannot exceed 4MB.'));
    await transact(checks.slice(1));
  });

  it('are 400 KB for each item: invalid in a put, a cancellation in an update', async () => {
    const text = { S: 'ä'.repeat(250_000) };
    await expect(transact([put('a', { text })])).rejects.toMatchObject(
      invalid('Item size has exceeded the maximum allowed size'),
    );
    const update = {
      Update: {
        TableName,
        Key: keyOf('a'),
        UpdateExpression: 'SET #t = :t',
        ExpressionAttributeNames: { '#t': 'text' },
        ExpressionAttributeValues: { ':t': text },
      },
    };
    const Message = 'Item size to update has exceeded the maximum allowed size';
    await expect(transact([update])).rejects.toMatchObject(cancelled({ Code: 'ValidationError', Message }));
  });
});

describe('a client request token', () => {
  const token = { ClientRequestToken: 'token' };

  it('applies the same transaction once within ten minutes', async () => {
    const items = [add('counter'), put('once', {}, isNew)];
    await transact(items, token);
    local.clock.advance(599);
    await transact(items, token);
    expect(await get('counter')).toMatchObject({ n: { N: '1' } });
    local.clock.advance(1);
    await expect(transact(items, token)).rejects.toMatchObject(cancelled('None', conditionFailed));
  });

  it('is still valid ten minutes after the first request, not after the last one', async () => {
    await transact([add('counter')], token);
    local.clock.advance(400);
    await transact([add('counter')], token);
    local.clock.advance(200);
    await transact([add('counter')], token);
    expect(await get('counter')).toMatchObject({ n: { N: '2' } });
  });

  it('cannot be used for another transaction', async () => {
    await transact([add('a')], token);
    await expect(transact([add('b')], token)).rejects.toBeInstanceOf(IdempotentParameterMismatchException);
    expect(await stored()).toEqual(['a']);
  });

  it('identifies a transaction regardless of the order of attributes and set members', async () => {
    await transact([put('a', { x: { N: '1' }, y: { SS: ['1', '2'] } })], token);
    await transact([put('a', { y: { SS: ['2', '1'] }, x: { N: '1' } })], token);
  });
});
