import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  PutItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keyOf, startDynamoDb, TableName, type TestDynamoDb } from '../support/dynamodb.ts';

let local: TestDynamoDb;
let dynamodb: DynamoDBClient;
beforeEach(async () => {
  local = await startDynamoDb(false);
  dynamodb = local.client;
});
afterEach(() => local.stop());

const item = { ...keyOf('a'), n: { N: '1' } };
type Returned = 'ALL_OLD' | 'NONE' | undefined;
const never = (returned: Returned) => ({
  TableName,
  ConditionExpression: 'n > :limit',
  ExpressionAttributeValues: { ':limit': { N: '1' } },
  ReturnValuesOnConditionCheckFailure: returned,
});

describe.each([
  ['PutItem', (returned: Returned) => dynamodb.send(new PutItemCommand({ Item: keyOf('a'), ...never(returned) }))],
  ['UpdateItem', (returned: Returned) => dynamodb.send(new UpdateItemCommand({ Key: keyOf('a'), ...never(returned) }))],
  ['DeleteItem', (returned: Returned) => dynamodb.send(new DeleteItemCommand({ Key: keyOf('a'), ...never(returned) }))],
])('a failed condition of %s', (_, send) => {
  const failure = async (returned: Returned) => {
    const error: unknown = await send(returned).catch((caught) => caught);
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
    return error.Item;
  };

  it('returns the item that did not meet it, with ALL_OLD', async () => {
    await dynamodb.send(new PutItemCommand({ TableName, Item: item }));
    expect(await failure('ALL_OLD')).toEqual(item);
  });

  it('returns no item otherwise, or if there is none', async () => {
    expect(await failure('ALL_OLD')).toBeUndefined();
    await dynamodb.send(new PutItemCommand({ TableName, Item: item }));
    expect(await failure('NONE')).toBeUndefined();
    expect(await failure(undefined)).toBeUndefined();
  });
});

it('an unknown value of ReturnValuesOnConditionCheckFailure is rejected', async () => {
  const request = JSON.parse('{"ReturnValuesOnConditionCheckFailure":"ALL_NEW"}');
  await expect(dynamodb.send(new PutItemCommand({ TableName, Item: item, ...request }))).rejects.toMatchObject({
    name: 'ValidationException',
    message: expect.stringContaining("'returnValuesOnConditionCheckFailure' failed to satisfy constraint"),
  });
});
