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

/** Requests with one error each, by their descriptions. */
export const invalidRequests: Readonly<Record<string, Request>> = {
  'an absent table': { action: 'GetItem', body: { TableName: 'nowhere', Key } },
  'a key without its sort key': { action: 'GetItem', body: { TableName, Key: { pk: Key.pk } } },
  'an item without its sort key': { action: 'PutItem', body: { TableName, Item: { pk: Key.pk } } },
  'an item with a key of another type': { action: 'PutItem', body: put({ pk: { N: '1' } }) },
  'an empty partition key': { action: 'PutItem', body: put({ pk: { S: '' } }) },
  'an item of more than 400 KB': { action: 'PutItem', body: put({ t: { S: 'x'.repeat(409_600) } }) },
  'an item of more than 400 KB in UTF-8': { action: 'PutItem', body: put({ t: { S: 'ä'.repeat(204_800) } }) },
  'an update to more than 400 KB in UTF-8': {
    action: 'UpdateItem',
    body: update('SET t = :t', { ExpressionAttributeValues: { ':t': { S: 'ä'.repeat(204_800) } } }),
  },
  'a number that is none': { action: 'PutItem', body: put({ n: { N: 'abc' } }) },
  'a number that is too large': { action: 'PutItem', body: put({ n: { N: '1e126' } }) },
  'a number with too many digits': { action: 'PutItem', body: put({ n: { N: '1'.repeat(39) } }) },
  'an empty set': { action: 'PutItem', body: put({ s: { SS: [] } }) },
  'a set with duplicates': { action: 'PutItem', body: put({ s: { SS: ['a', 'a'] } }) },
  'a value of two types': { action: 'PutItem', body: put({ s: { S: 'a', N: '1' } }) },
  'a value without type': { action: 'PutItem', body: put({ s: {} }) },
  'an empty condition': { action: 'PutItem', body: put({}, { ConditionExpression: '' }) },
  'a condition with a syntax error': { action: 'PutItem', body: put({}, { ConditionExpression: 'foo bar' }) },
  'a condition with an undefined value': { action: 'PutItem', body: put({}, { ConditionExpression: 'a = :one' }) },
  'a condition with an undefined name': {
    action: 'PutItem',
    body: put({}, { ConditionExpression: 'attribute_exists(#a)' }),
  },
  'a condition with a reserved word': {
    action: 'PutItem',
    body: put({}, { ConditionExpression: 'attribute_exists(name)' }),
  },
  'a condition with an unknown function': { action: 'PutItem', body: put({}, { ConditionExpression: 'exists(a)' }) },
  'a condition with a value that has no order': {
    action: 'PutItem',
    body: put({}, { ConditionExpression: 'a > :x', ExpressionAttributeValues: { ':x': { BOOL: true } } }),
  },
  'an unused value': { action: 'PutItem', body: put({}, { ...isNew, ExpressionAttributeValues: one }) },
  'an unused name': { action: 'PutItem', body: put({}, { ...isNew, ExpressionAttributeNames: { '#a': 'a' } }) },
  'values without an expression': { action: 'PutItem', body: put({}, { ExpressionAttributeValues: one }) },
  'names without an expression': { action: 'PutItem', body: put({}, { ExpressionAttributeNames: { '#a': 'a' } }) },
  'a failed condition': {
    action: 'PutItem',
    body: put({}, { ConditionExpression: 'attribute_exists(pk) AND attribute_not_exists(pk)' }),
  },
  'an unknown value of ReturnValuesOnConditionCheckFailure': {
    action: 'PutItem',
    body: put({}, { ...isNew, ReturnValuesOnConditionCheckFailure: 'ALL_NEW' }),
  },
  'a change of a key': { action: 'UpdateItem', body: update('SET sk = :one', { ExpressionAttributeValues: one }) },
  'two changes of one path': {
    action: 'UpdateItem',
    body: update('SET a = :one, a = :one', { ExpressionAttributeValues: one }),
  },
  'an update of an attribute that does not exist': {
    action: 'UpdateItem',
    body: update('SET n = missing'),
  },
  'a batch with one key twice': {
    action: 'BatchGetItem',
    body: { RequestItems: { [TableName]: { Keys: [Key, Key] } } },
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
  'a transaction with one item twice': transaction({ Put: put({}) }, { Delete: { TableName, Key } }),
  'a transaction with an absent table': transaction({ Put: put({}) }, { Put: { TableName: 'nowhere', Item: Key } }),
  'a transaction with an empty partition key': transaction({ Put: put({ pk: { S: '' } }) }),
  'a transaction with a key of another type': transaction({ Put: put({ pk: { N: '1' } }) }),
  'a transaction with a check without condition': transaction({ ConditionCheck: { TableName, Key } }),
  'a transaction with a put without item': transaction({ Put: { TableName } }),
  'a transaction with an item of more than 400 KB': transaction({ Put: put({ t: { S: 'x'.repeat(409_600) } }) }),
  'a transaction with an update to more than 400 KB': transaction({
    Update: update('SET t = :t', { ExpressionAttributeValues: { ':t': { S: 'x'.repeat(409_600) } } }),
  }),
  'a transaction with a change of a key': transaction({
    Update: update('SET sk = :one', { ExpressionAttributeValues: one }),
  }),
  'a transaction with a syntax error': transaction({ Put: put({}, { ConditionExpression: 'foo bar' }) }),
  'a transaction with a failed condition': transaction(
    { Put: put({}, { ConditionExpression: 'attribute_exists(missing)' }) },
    { Delete: { TableName, Key: keyOf('b') } },
  ),
  'a token that is too long': {
    action: 'TransactWriteItems',
    body: { TransactItems: [{ Put: put({}) }], ClientRequestToken: 'x'.repeat(37) },
  },
};
