import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, UpdateCommand, type UpdateCommandInput } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { Item } from './items.ts';

/** The option of a conditional write whose failure returns the item, which saves a read. */
export const RETURN_EXISTING = { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;

/**
 * The result of a conditional write: the item after it if the request asks for it, or the item whose condition failed,
 * undefined if there is none.
 */
export type Written =
  | { isWritten: true; item: Item | undefined; existing?: undefined }
  | { isWritten: false; item?: undefined; existing: Item | undefined };

/** Returns the result of a write that has the option `RETURN_EXISTING`. @throws the SDK's error for other failures */
export const orExisting = async (write: Promise<{ Attributes?: Item | undefined }>): Promise<Written> => {
  try {
    return { isWritten: true, item: (await write).Attributes };
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
    // The document client does not convert the items of errors.
    return { isWritten: false, existing: error.Item && unmarshall(error.Item) };
  }
};

/** An update of an item and its condition. */
export type ConditionalUpdate = Pick<
  UpdateCommandInput,
  'UpdateExpression' | 'ConditionExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues'
>;

/** Creates the function that updates an item of a table. It returns the item after the update. */
export const createConditionalUpdate =
  (client: DynamoDBDocumentClient, table: string) =>
  ({ pk, sk }: { pk: string; sk: string }, update: ConditionalUpdate): Promise<Written> =>
    orExisting(
      client.send(
        new UpdateCommand({
          TableName: table,
          Key: { pk, sk },
          ReturnValues: 'ALL_NEW',
          ...RETURN_EXISTING,
          ...update,
        }),
      ),
    );
