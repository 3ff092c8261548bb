import {
  ConditionalCheckFailedException,
  TransactionCanceledException,
  TransactionConflictException,
  TransactionInProgressException,
} from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, UpdateCommand, type UpdateCommandInput } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { withRetries } from '../waiting.ts';
import { TransactionContentionError } from './errors.ts';
import type { Item } from './items.ts';

/** The number of attempts at a write that conflicts with transactions, less than 5 s in total, before the last one. */
const MAX_ATTEMPTS = 20;
/** DynamoDB recovers a transaction that is stuck only for a request at least 5 s after the first. */
const RECOVERY_MS = 5_500;
const FIRST_DELAY_MS = 25;
const MAX_DELAY_MS = 400;

const delayMs = (attempt: number): number =>
  Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), MAX_DELAY_MS) * (0.5 + Math.random() / 2);

/** Reasons that cancel a transaction for a moment: another transaction uses the item, or it is throttled. */
const CONTENTION = ['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'];

/** Returns the reason of each item of a cancelled transaction; `None` for an item that did not cancel it. */
export const reasonsOf = ({ CancellationReasons = [] }: TransactionCanceledException): string[] =>
  CancellationReasons.map(({ Code = 'None' }) => Code);

const isContention = (error: unknown): boolean => {
  if (error instanceof TransactionConflictException || error instanceof TransactionInProgressException) return true;
  if (!(error instanceof TransactionCanceledException)) return false;
  const reasons = reasonsOf(error).filter((reason) => reason !== 'None');
  return reasons.length > 0 && reasons.every((reason) => CONTENTION.includes(reason));
};

/**
 * Repeats a write while another transaction uses an item, which the SDK does not. @throws TransactionContentionError
 */
export const retryConflicts = <Output>(write: () => Promise<Output>): Promise<Output> => {
  const recoversAtMs = performance.now() + RECOVERY_MS;
  let attemptAtMs = 0;
  const attemptWrite = (): Promise<Output> => {
    attemptAtMs = performance.now();
    return write();
  };
  return withRetries(attemptWrite, (attempt, attempts) => {
    if (attempt.status === 'fulfilled' || !isContention(attempt.reason)) return undefined;
    const isLast = attempts > MAX_ATTEMPTS || attemptAtMs >= recoversAtMs;
    if (isLast) throw new TransactionContentionError(attempt.reason);
    const recoveryMs = recoversAtMs - performance.now();
    return attempts === MAX_ATTEMPTS ? Math.max(recoveryMs, FIRST_DELAY_MS) : delayMs(attempts);
  });
};

/** The option of a conditional write whose failure returns the item, which saves a read. */
export const RETURN_EXISTING = { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;

/** The item after a write, if the request asks for it, or the item whose condition failed, if there is one. */
export type Written =
  | { isWritten: true; item: Item | undefined; existing?: undefined }
  | { isWritten: false; item?: undefined; existing: Item | undefined };

export const orExisting = async (write: () => Promise<{ Attributes?: Item | undefined }>): Promise<Written> => {
  try {
    return { isWritten: true, item: (await retryConflicts(write)).Attributes };
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
    // The document client does not convert the items of errors.
    return { isWritten: false, existing: error.Item && unmarshall(error.Item) };
  }
};

export type ConditionalUpdate = Pick<
  UpdateCommandInput,
  'UpdateExpression' | 'ConditionExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues'
>;

export type Condition = Omit<ConditionalUpdate, 'UpdateExpression'>;

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

/** Returns the update that sets attributes of an item, and removes those that are undefined, on a condition. */
export const attributesUpdate = (attributes: Item, condition: Condition = {}) => {
  const names = Object.keys(attributes);
  const set = names.filter((name) => attributes[name] !== undefined);
  const removed = names.filter((name) => attributes[name] === undefined);
  const clauses = [
    ...(set.length > 0 ? [`SET ${set.map((name) => `#${name} = :new_${name}`).join(', ')}`] : []),
    ...(removed.length > 0 ? [`REMOVE ${removed.map((name) => `#${name}`).join(', ')}`] : []),
  ];
  const values = {
    ...condition.ExpressionAttributeValues,
    ...Object.fromEntries(set.map((name) => [`:new_${name}`, attributes[name]])),
  };
  return {
    UpdateExpression: clauses.join(' '),
    ConditionExpression: condition.ConditionExpression,
    ExpressionAttributeNames: {
      ...condition.ExpressionAttributeNames,
      ...Object.fromEntries(names.map((name) => [`#${name}`, name])),
    },
    // DynamoDB rejects an empty map.
    ExpressionAttributeValues: Object.keys(values).length > 0 ? values : undefined,
  };
};
