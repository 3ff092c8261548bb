import {
  type AttributeValue,
  type CancellationReason,
  type DynamoDBClient,
  GetItemCommand,
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
  it('is cancelled by an update that the stored item does not permit', async () => {
    await transact([put('text', { n: { S: 'text' } })]);
    const Message = 'An operand in the update expression has an incorrect data type';
    await expect(transact([put('new'), add('text')])).rejects.toMatchObject(
      cancelled('None', { Code: 'ValidationError', Message }),
    );
    expect(await stored()).toEqual(['text']);
  });
});

describe('the limits of a transaction', () => {
  it('are 4 MB of stored items, also of those that are checked', async () => {
    for (const index of numbers(11)) await transact([putLarge(`p${index}`, 400)]);
    const checks = numbers(11).map((index) => check(`p${index}`, 'attribute_exists(pk)'));
    await expect(transact(checks)).rejects.toMatchObject(invalid('Transaction payload size cannot exceed 4MB.'));
    await transact(checks.slice(1));
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

  it('identifies a transaction regardless of the order of attributes and set members', async () => {
    await transact([put('a', { x: { N: '1' }, y: { SS: ['1', '2'] } })], token);
    await transact([put('a', { y: { SS: ['2', '1'] }, x: { N: '1' } })], token);
  });
});
