import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, UpdateCommand, type UpdateCommandInput } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { Item } from './items.ts';
import { retryConflicts } from './transactions.ts';

/** The option of a conditional write whose failure returns the item, which saves a read. */
export const RETURN_EXISTING = { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;

/**
 * The result of a conditional write: the item after it if the request asks for it, or the item whose condition failed,
 * undefined if there is none.
 */
export type Written =
  | { isWritten: true; item: Item | undefined; existing?: undefined }
  | { isWritten: false; item?: undefined; existing: Item | undefined };

/**
 * Returns the result of a write that has the option `RETURN_EXISTING`, repeated while it conflicts with a transaction.
 *
 * @throws TransactionContentionError, or the SDK's error for other failures
 */
export const orExisting = async (write: () => Promise<{ Attributes?: Item | undefined }>): Promise<Written> => {
  try {
    return { isWritten: true, item: (await retryConflicts(write)).Attributes };
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
  ({ pk, sk }: { pk: string; sk?: string }, update: ConditionalUpdate): Promise<Written> =>
    orExisting(() =>
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

/** Returns the update that sets attributes of an item, and removes those that are undefined. */
export const attributesUpdate = (attributes: Item) => {
  const names = Object.keys(attributes);
  const set = names.filter((name) => attributes[name] !== undefined);
  const removed = names.filter((name) => attributes[name] === undefined);
  const clauses = [
    ...(set.length > 0 ? [`SET ${set.map((name) => `#${name} = :new_${name}`).join(', ')}`] : []),
    ...(removed.length > 0 ? [`REMOVE ${removed.map((name) => `#${name}`).join(', ')}`] : []),
  ];
  return {
    UpdateExpression: clauses.join(' '),
    ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
    ExpressionAttributeValues: Object.fromEntries(set.map((name) => [`:new_${name}`, attributes[name]])),
  };
};
