import {
  type AttributeValue,
  BatchGetItemCommand,
  BatchWriteItemCommand,
  DeleteItemCommand,
  type DeleteItemCommandInput,
  GetItemCommand,
  type GetItemCommandInput,
  PutItemCommand,
  type PutItemCommandInput,
  type PutItemCommandOutput,
  QueryCommand,
  type QueryCommandInput,
  type QueryCommandOutput,
  ScanCommand,
  type ScanCommandInput,
  type WriteRequest as StoredWriteRequest,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import type { DynamoDb, RequestOptions } from './dynamodb-client.ts';

/*
 * The operations of DynamoDB with items as plain objects. The document client of the AWS SDK does the same, but it
 * builds its middleware stack again for each request (docs/decisions/outbound.md#dynamodb-client).
 */

/** The attributes of an item by name. */
export type Item = Record<string, unknown>;

/** A put or delete in a BatchWriteItem request. */
export type WriteRequest = { PutRequest?: { Item: Item }; DeleteRequest?: { Key: Item } };

type Attributes = Record<string, AttributeValue>;
/** The output of a put or delete. `attempts` counts the requests of the AWS SDK. */
export type WriteOutput = Pick<PutItemCommandOutput, '$metadata'>;

type Values = { ExpressionAttributeValues?: Item | undefined };

/** Replaces the attributes of an input by plain values. */
type Document<Input, Keys extends keyof Input, Plain> = Pick<Input, Keys> & Plain;

/** The attributes to read. Default: all. */
export type Projection = { ProjectionExpression?: string; ExpressionAttributeNames?: Record<string, string> };

/** The input of a strongly or eventually consistent read of an item. */
export type GetInput = Document<
  GetItemCommandInput,
  'TableName' | 'ConsistentRead' | 'ProjectionExpression' | 'ExpressionAttributeNames',
  { Key: Item }
>;

/** The input of a put. */
export type PutInput = Document<
  PutItemCommandInput,
  'TableName' | 'ConditionExpression' | 'ExpressionAttributeNames',
  { Item: Item } & Values
>;

/** The input of an update. */
export type UpdateInput = Document<
  UpdateItemCommandInput,
  'TableName' | 'UpdateExpression' | 'ConditionExpression' | 'ExpressionAttributeNames' | 'ReturnValues',
  { Key: Item } & Values
>;

/** The input of a delete. */
export type DeleteInput = Document<
  DeleteItemCommandInput,
  'TableName' | 'ConditionExpression' | 'ExpressionAttributeNames',
  { Key: Item } & Values
>;

/** A page of a query or scan. */
export type Page = {
  Items: Item[];
  /** The key that the next page starts after; undefined after the last page. */
  LastEvaluatedKey: Item | undefined;
  /** The number of items of the page, also if `Select` is `COUNT`. */
  Count: number;
  /** The number of items before filtering. */
  ScannedCount: number;
};

type Paged = Values & { ExclusiveStartKey?: Item | undefined };

/** The input of a query. */
export type QueryInput = Document<
  QueryCommandInput,
  | 'TableName'
  | 'KeyConditionExpression'
  | 'FilterExpression'
  | 'ProjectionExpression'
  | 'ExpressionAttributeNames'
  | 'ConsistentRead'
  | 'ScanIndexForward'
  | 'Select'
  | 'Limit',
  Paged
>;

/** The input of a scan. */
export type ScanInput = Document<
  ScanCommandInput,
  'TableName' | 'FilterExpression' | 'ProjectionExpression' | 'ExpressionAttributeNames' | 'ConsistentRead' | 'Limit',
  Paged
>;

const marshallOptions = { removeUndefinedValues: true };

const toAttributes = (item: Item): Attributes => marshall(item, marshallOptions);
const toItem = (attributes: Attributes): Item => unmarshall(attributes);
const optionalItem = (attributes: Attributes | undefined): Item | undefined => attributes && toItem(attributes);

const expressionValues = (values: Item | undefined) => values && { ExpressionAttributeValues: toAttributes(values) };

const paging = ({ ExpressionAttributeValues, ExclusiveStartKey }: Paged) => ({
  ...expressionValues(ExpressionAttributeValues),
  ...(ExclusiveStartKey && { ExclusiveStartKey: toAttributes(ExclusiveStartKey) }),
});

/** Reads an item. */
export const getItem = async (
  client: DynamoDb,
  { Key, ...input }: GetInput,
  options?: RequestOptions,
): Promise<{ Item: Item | undefined }> => {
  const { Item } = await client.send(new GetItemCommand({ ...input, Key: toAttributes(Key) }), options);
  return { Item: optionalItem(Item) };
};

/** Puts an item. @throws ConditionalCheckFailedException if the condition failed */
export const putItem = async (client: DynamoDb, input: PutInput): Promise<WriteOutput> => {
  const { Item, ExpressionAttributeValues, ...rest } = input;
  const values = expressionValues(ExpressionAttributeValues);
  return client.send(new PutItemCommand({ ...rest, Item: toAttributes(Item), ...values }));
};

/**
 * Updates an item.
 *
 * @returns the attributes that `ReturnValues` selects
 * @throws ConditionalCheckFailedException if the condition failed
 */
export const updateItem = async (
  client: DynamoDb,
  { Key, ExpressionAttributeValues, ...input }: UpdateInput,
): Promise<{ Attributes: Item | undefined }> => {
  const values = expressionValues(ExpressionAttributeValues);
  const { Attributes } = await client.send(new UpdateItemCommand({ ...input, Key: toAttributes(Key), ...values }));
  return { Attributes: optionalItem(Attributes) };
};

/** Deletes an item. @throws ConditionalCheckFailedException if the condition failed */
export const deleteItem = async (
  client: DynamoDb,
  { Key, ExpressionAttributeValues, ...input }: DeleteInput,
  options?: RequestOptions,
): Promise<WriteOutput> => {
  const values = expressionValues(ExpressionAttributeValues);
  return client.send(new DeleteItemCommand({ ...input, Key: toAttributes(Key), ...values }), options);
};

const toPage = ({ Items = [], LastEvaluatedKey, Count = 0, ScannedCount = 0 }: QueryCommandOutput): Page => ({
  Items: Items.map(toItem),
  LastEvaluatedKey: optionalItem(LastEvaluatedKey),
  Count,
  ScannedCount,
});

/** Reads one page of a query. */
export const queryPage = async (
  client: DynamoDb,
  { ExpressionAttributeValues, ExclusiveStartKey, ...input }: QueryInput,
  options?: RequestOptions,
): Promise<Page> =>
  toPage(
    await client.send(
      new QueryCommand({ ...input, ...paging({ ExpressionAttributeValues, ExclusiveStartKey }) }),
      options,
    ),
  );

/** Reads one page of a scan. */
const scanPage = async (
  client: DynamoDb,
  { ExpressionAttributeValues, ExclusiveStartKey, ...input }: ScanInput,
): Promise<Page> =>
  toPage(await client.send(new ScanCommand({ ...input, ...paging({ ExpressionAttributeValues, ExclusiveStartKey }) })));

/** Yields pages until there are no more. */
async function* allPages(readPage: (startKey: Item | undefined) => Promise<Page>): AsyncGenerator<Page> {
  let startKey: Item | undefined;
  do {
    const page = await readPage(startKey);
    yield page;
    startKey = page.LastEvaluatedKey;
  } while (startKey);
}

/** Yields all pages of a query. */
export const queryPages = (client: DynamoDb, input: QueryInput): AsyncGenerator<Page> =>
  allPages((ExclusiveStartKey) => queryPage(client, { ...input, ExclusiveStartKey }));

/** Yields all pages of a scan. */
export const scanPages = (client: DynamoDb, input: ScanInput): AsyncGenerator<Page> =>
  allPages((ExclusiveStartKey) => scanPage(client, { ...input, ExclusiveStartKey }));

/** Reads up to 100 items of one table by key (AWS limit), strongly consistent by default. */
export const batchGetItems = async (
  client: DynamoDb,
  table: string,
  { keys, ...options }: { keys: readonly Item[]; ConsistentRead?: boolean } & Projection,
): Promise<{ items: Item[]; unprocessedKeys: Item[] }> => {
  const request = { Keys: keys.map(toAttributes), ConsistentRead: true, ...options };
  const { Responses, UnprocessedKeys } = await client.send(
    new BatchGetItemCommand({ RequestItems: { [table]: request } }),
  );
  return {
    items: (Responses?.[table] ?? []).map(toItem),
    unprocessedKeys: (UnprocessedKeys?.[table]?.Keys ?? []).map(toItem),
  };
};

const toWriteRequest = ({ PutRequest, DeleteRequest }: StoredWriteRequest): WriteRequest => ({
  ...(PutRequest?.Item && { PutRequest: { Item: toItem(PutRequest.Item) } }),
  ...(DeleteRequest?.Key && { DeleteRequest: { Key: toItem(DeleteRequest.Key) } }),
});

/** Puts or deletes up to 25 items of one table (AWS limit), not atomically. @returns the unprocessed requests */
export const batchWriteItems = async (
  client: DynamoDb,
  table: string,
  requests: readonly WriteRequest[],
  options?: RequestOptions,
): Promise<WriteRequest[]> => {
  const stored = requests.map(({ PutRequest, DeleteRequest }) => ({
    ...(PutRequest && { PutRequest: { Item: toAttributes(PutRequest.Item) } }),
    ...(DeleteRequest && { DeleteRequest: { Key: toAttributes(DeleteRequest.Key) } }),
  }));
  const { UnprocessedItems } = await client.send(
    new BatchWriteItemCommand({ RequestItems: { [table]: stored } }),
    options,
  );
  return (UnprocessedItems?.[table] ?? []).map(toWriteRequest);
};
