import type { Comparable } from './comparable.ts';
import type { Request } from './generated-requests.ts';

/** A request and the different responses to it. */
export type Difference = { request: Request; dynamoDbLocal: Comparable; local: Comparable };

/** A difference that remains. */
export type ToleratedDifference = {
  /** What differs. */
  description: string;
  applies(difference: Difference): boolean;
};

const isTransaction = ({ action }: Request): boolean => action.startsWith('Transact');
const isCanceled = ({ error }: Comparable): boolean => error === 'TransactionCanceledException';

/** Errors of an update that depend on the stored item. */
const UPDATE_ERRORS = [
  'Item size to update has exceeded the maximum allowed size',
  'The document path provided in the update expression is invalid for update',
  'The provided expression refers to an attribute that does not exist in the item',
  'An operand in the update expression has an incorrect data type',
  'Number overflow. Attempting to store a number with magnitude larger than supported range',
  'DynamoDB only supports precision up to 38 digits',
];

/** Errors that the databases find before or after they validate a request. */
const EARLIER_OR_LATER = ['ResourceNotFoundException', 'IdempotentParameterMismatchException'];

const ITEM_TWICE = 'Transaction request cannot include multiple operations on one item';

const codes = ({ message }: Comparable): string[] => /\[(.*)\]$/.exec(message ?? '')?.[1]?.split(', ') ?? [];

/** The differences between DynamoDB Local and the local stack that remain. */
export const toleratedDifferences: readonly ToleratedDifference[] = [
  {
    description: 'DynamoDB Local fails with `InternalFailure`',
    applies: ({ dynamoDbLocal }) => dynamoDbLocal.error === 'InternalFailure',
  },
  {
    description: 'of several errors in one request, each reports another one first',
    applies: ({ dynamoDbLocal, local }) =>
      [dynamoDbLocal, local].every(({ status }) => status === 400) &&
      ([dynamoDbLocal, local].some(({ error = '' }) => EARLIER_OR_LATER.includes(error)) ||
        dynamoDbLocal.message === ITEM_TWICE),
  },
  {
    description: 'DynamoDB Local checks conditions before it rejects an item that occurs twice in a transaction',
    applies: ({ dynamoDbLocal, local }) => local.message === ITEM_TWICE && isCanceled(dynamoDbLocal),
  },
  {
    description:
      'DynamoDB Local fails a transaction with `ValidationException` if a stored item does not permit an update',
    applies: ({ request, dynamoDbLocal, local }) =>
      isTransaction(request) && isCanceled(local) && UPDATE_ERRORS.includes(dynamoDbLocal.message ?? ''),
  },
  {
    description: 'DynamoDB Local returns a single reason for a transaction that changes a key',
    applies: ({ dynamoDbLocal }) =>
      codes(dynamoDbLocal).join() === 'ValidationError' && changesKey(JSON.stringify(dynamoDbLocal.members)),
  },
  {
    description: 'the local stack returns `LastEvaluatedKey` whenever it reaches `Limit`',
    applies: ({ request, dynamoDbLocal, local }) =>
      request.action === 'Query' &&
      request.body.Limit !== undefined &&
      JSON.stringify(dynamoDbLocal.members) === JSON.stringify({ ...members(local), LastEvaluatedKey: undefined }),
  },
  {
    description: 'DynamoDB Local rejects an `ExclusiveStartKey` after which the key condition permits no item',
    applies: ({ dynamoDbLocal }) =>
      dynamoDbLocal.message === 'The provided starting key does not match the range key predicate',
  },
  {
    description: 'DynamoDB Local does not recognize `1` and `1.0` as the same key in one request',
    applies: ({ dynamoDbLocal, local }) =>
      dynamoDbLocal.error === undefined &&
      /contains duplicates|multiple operations on one item/.test(local.message ?? ''),
  },
];

const changesKey = (text = ''): boolean => text.includes('This attribute is part of the key');
const members = ({ members }: Comparable): object => (typeof members === 'object' && members !== null ? members : {});
