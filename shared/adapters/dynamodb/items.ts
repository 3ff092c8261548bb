import type { BatchWriteCommandInput, GetCommandInput } from '@aws-sdk/lib-dynamodb';

/** The options of document clients: attributes that are undefined are not written. */
export const documentOptions = { marshallOptions: { removeUndefinedValues: true } };

/** The attributes of an item by name. */
export type Item = Record<string, unknown>;

/** A put or delete in a BatchWriteItem request. */
export type WriteRequest = NonNullable<BatchWriteCommandInput['RequestItems']>[string][number];

/** The attributes to read. Default: all. */
export type Projection = Pick<GetCommandInput, 'ProjectionExpression' | 'ExpressionAttributeNames'>;
