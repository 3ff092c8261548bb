import {
  type BatchWriteCommandInput,
  type DynamoDBDocumentClient,
  GetCommand,
  type GetCommandInput,
  paginateQuery,
  type QueryCommandInput,
} from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';

/** The options of document clients: attributes that are undefined are not written. */
export const documentOptions = { marshallOptions: { removeUndefinedValues: true } };

export type Item = Record<string, unknown>;

/** A stored period: the end is exclusive. */
export const storedPeriod = z.object({ from_ms: z.number(), until_ms: z.number() });

export type WriteRequest = NonNullable<BatchWriteCommandInput['RequestItems']>[string][number];

export type Projection = Pick<GetCommandInput, 'ProjectionExpression' | 'ExpressionAttributeNames'>;

/** Returns an item, strongly consistent, or undefined if it does not exist. */
export const getItem = async (
  client: DynamoDBDocumentClient,
  TableName: string,
  Key: Item,
  projection: Projection = {},
): Promise<Item | undefined> =>
  (await client.send(new GetCommand({ TableName, Key, ConsistentRead: true, ...projection }))).Item;

/** Yields the items of each page, at most 1 MB (AWS limit) and `Limit` items before the filter. Reads lazily. */
export async function* queryPages(
  client: DynamoDBDocumentClient,
  query: Omit<QueryCommandInput, 'TableName'> & { TableName: string },
): AsyncGenerator<Item[]> {
  for await (const { Items = [] } of paginateQuery({ client }, query)) yield Items;
}

export async function* queryItems(...query: Parameters<typeof queryPages>): AsyncGenerator<Item> {
  for await (const items of queryPages(...query)) yield* items;
}

/** The sort key of a client's marker. DynamoDB permits 1,024 bytes; a truncated marker sorts like the whole. */
export const sortKeyOf = (marker: string | null): string | undefined =>
  marker === null ? undefined : marker.slice(0, 64).toWellFormed();

/** Returns `node:zlib`, which takes 2 ms to load. Few invocations compress, so it must not delay every cold start. */
export const zlib = () => process.getBuiltinModule('node:zlib');
