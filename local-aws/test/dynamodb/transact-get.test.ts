import {
  type DynamoDBClient,
  PutItemCommand,
  ResourceNotFoundException,
  TransactGetItemsCommand,
  type TransactGetItemsInput,
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

const put = (pk: string, attributes = {}) =>
  dynamodb.send(new PutItemCommand({ TableName, Item: { ...keyOf(pk), ...attributes } }));
const read = (items: TransactGetItemsInput['TransactItems'], more: Partial<TransactGetItemsInput> = {}) =>
  dynamodb.send(new TransactGetItemsCommand({ TransactItems: items, ...more }));
const getOf = (pk: string, more = {}) => ({ Get: { TableName, Key: keyOf(pk), ...more } });

describe('TransactGetItems', () => {
  it('returns one response for each item, empty for an absent one', async () => {
    await put('a', { n: { N: '1' } });
    const { Responses } = await read([getOf('none'), getOf('a')]);
    expect(Responses).toEqual([{}, { Item: { ...keyOf('a'), n: { N: '1' } } }]);
  });

  it('returns the attributes of a projection', async () => {
    await put('a', { name: { S: 'A' }, n: { N: '1' } });
    const projection = { ProjectionExpression: '#n', ExpressionAttributeNames: { '#n': 'name' } };
    const { Responses } = await read([getOf('a', projection), getOf('none', projection)]);
    expect(Responses).toEqual([{ Item: { name: { S: 'A' } } }, {}]);
  });

  it('reports two units for up to 4 KB, also of an absent item', async () => {
    await dynamodb.send(new PutItemCommand({ TableName, Item: itemOf('a', 'a', 5) }));
    const { ConsumedCapacity } = await read([getOf('a'), getOf('none')], { ReturnConsumedCapacity: 'TOTAL' });
    expect(ConsumedCapacity).toEqual([{ TableName, CapacityUnits: 6, ReadCapacityUnits: 6 }]);
  });

  it('is limited to 100 distinct items with 4 MB', async () => {
    const gets = Array.from({ length: 101 }, (_, index) => getOf(`p${index}`));
    await expect(read(gets)).rejects.toMatchObject({ name: 'ValidationException' });
    await expect(read([getOf('a'), getOf('a')])).rejects.toMatchObject({
      name: 'ValidationException',
      message: 'Transaction request cannot include multiple operations on one item',
    });
    for (const { Get } of gets.slice(0, 11)) {
      await dynamodb.send(new PutItemCommand({ TableName, Item: itemOf(Get.Key.pk.S, 'a', 400) }));
    }
    await expect(read(gets.slice(0, 11))).rejects.toMatchObject({ name: 'ValidationException' });
    expect((await read(gets.slice(0, 10))).Responses).toHaveLength(10);
  });

  it('is cancelled by a key that does not match the table', async () => {
    const [reason] = [{ Code: 'ValidationError', Message: 'The provided key element does not match the schema' }];
    await expect(read([getOf('a'), { Get: { TableName, Key: { pk: { S: 'a' } } } }])).rejects.toMatchObject({
      name: 'TransactionCanceledException',
      CancellationReasons: [{ Code: 'None' }, reason],
    });
  });

  it('fails for a table that does not exist', async () => {
    const elsewhere = { Get: { TableName: 'nowhere', Key: keyOf('a') } };
    await expect(read([elsewhere])).rejects.toBeInstanceOf(ResourceNotFoundException);
  });
});
