import { type Request, TABLE } from './generated-requests.ts';

const TableName = TABLE;
const keyOf = (sk = 'a') => ({ pk: { S: 'invalid' }, sk: { S: sk } });
const Key = keyOf();
const one = { ':one': { N: '1' } };
const isNew = { ConditionExpression: 'attribute_not_exists(pk)' };
const put = (item: object, more: object = {}) => ({ TableName, Item: { ...Key, ...item }, ...more });
const update = (UpdateExpression: string, more: object = {}) => ({ TableName, Key, UpdateExpression, ...more });
const transaction = (...TransactItems: object[]): Request => ({
  action: 'TransactWriteItems',
  body: { TransactItems },
});
const large = (index: number) => ({
  Put: { TableName, Item: { ...keyOf(`large${index}`), t: { S: 'x'.repeat(400_000) } } },
});
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

/** Requests with one error each that generated requests lack, by their descriptions. */
export const invalidRequests: Readonly<Record<string, Request>> = {
  'an update to more than 400 KB in UTF-8': {
    action: 'UpdateItem',
    body: update('SET t = :t', { ExpressionAttributeValues: { ':t': { S: 'ä'.repeat(204_800) } } }),
  },
  'values without an expression': { action: 'PutItem', body: put({}, { ExpressionAttributeValues: one }) },
  'names without an expression': { action: 'PutItem', body: put({}, { ExpressionAttributeNames: { '#a': 'a' } }) },
  'an unknown value of ReturnValuesOnConditionCheckFailure': {
    action: 'PutItem',
    body: put({}, { ...isNew, ReturnValuesOnConditionCheckFailure: 'ALL_NEW' }),
  },
  'two changes of one path': {
    action: 'UpdateItem',
    body: update('SET a = :one, a = :one', { ExpressionAttributeValues: one }),
  },
  'an update of an attribute that does not exist': {
    action: 'UpdateItem',
    body: update('SET n = missing'),
  },
  'a batch of more than 25 writes': {
    action: 'BatchWriteItem',
    body: { RequestItems: { [TableName]: numbers(26).map((n) => ({ DeleteRequest: { Key: keyOf(`${n}`) } })) } },
  },
  'a query of one item without its partition key': {
    action: 'Query',
    body: { TableName, KeyConditionExpression: 'sk = :one', ExpressionAttributeValues: { ':one': { S: 'a' } } },
  },
  'a transaction without items': transaction(),
  'a transaction with an empty item': transaction({}),
  'a transaction with two operations in one item': transaction({
    Put: put({}),
    Delete: { TableName, Key: keyOf('b') },
  }),
  'a transaction of more than 100 items': transaction(
    ...numbers(101).map((n) => ({ Delete: { TableName, Key: keyOf(`${n}`) } })),
  ),
  'a transaction of more than 4 MB': transaction(...numbers(11).map(large)),
  'a transaction with a check without condition': transaction({ ConditionCheck: { TableName, Key } }),
  'a transaction with a put without item': transaction({ Put: { TableName } }),
  'a transaction with an update to more than 400 KB': transaction({
    Update: update('SET t = :t', { ExpressionAttributeValues: { ':t': { S: 'x'.repeat(409_600) } } }),
  }),
  'a token that is too long': {
    action: 'TransactWriteItems',
    body: { TransactItems: [{ Put: put({}) }], ClientRequestToken: 'x'.repeat(37) },
  },
};
