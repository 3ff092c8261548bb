import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  TransactionCanceledException,
  TransactionConflictException,
  TransactionInProgressException,
} from '@aws-sdk/client-dynamodb';
import {
  type DynamoDBDocumentClient,
  TransactWriteCommand,
  type TransactWriteCommandInput,
} from '@aws-sdk/lib-dynamodb';
import { isDependencyFailure } from '../aws-client.ts';
import { TransactionContentionError, UnconfirmedChangeError } from './errors.ts';

/** A put, update, delete or condition of one item in a transaction. */
export type TransactItem = NonNullable<TransactWriteCommandInput['TransactItems']>[number];

/** Conditions of a transaction failed, so that nothing was written. */
export class FailedConditionsError extends Error {
  override readonly name = 'FailedConditionsError';
  /** The positions of the items whose conditions failed. */
  readonly indexes: readonly number[];

  constructor(indexes: readonly number[], cause: unknown) {
    super(`The conditions of the items ${indexes.join(', ')} failed.`, { cause });
    this.indexes = indexes;
  }
}

/** The number of attempts at a write that conflicts with transactions, less than 5 s in total, before the last one. */
const MAX_ATTEMPTS = 20;
/** DynamoDB recovers a transaction that is stuck only for a request at least 5 s after the first. */
const RECOVERY_MS = 5_500;
const FIRST_DELAY_MS = 25;
const MAX_DELAY_MS = 400;

/** Returns an exponential backoff with jitter. */
const delayMs = (attempt: number): number =>
  Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), MAX_DELAY_MS) * (0.5 + Math.random() / 2);

/** Reasons that cancel a transaction for a moment: another transaction uses the item, or it is throttled. */
const CONTENTION = ['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'];

/** Returns the reason of each item of a cancelled transaction; `None` for an item that did not cancel it. */
const reasonsOf = ({ CancellationReasons = [] }: TransactionCanceledException): string[] =>
  CancellationReasons.map(({ Code = 'None' }) => Code);

const isContention = (error: unknown): boolean => {
  if (error instanceof TransactionConflictException || error instanceof TransactionInProgressException) return true;
  if (!(error instanceof TransactionCanceledException)) return false;
  const reasons = reasonsOf(error).filter((reason) => reason !== 'None');
  return reasons.length > 0 && reasons.every((reason) => CONTENTION.includes(reason));
};

/**
 * Repeats a write, a transaction or not, that fails because another transaction uses one of its items. The SDK does not
 * retry this failure.
 *
 * @throws TransactionContentionError after the last attempt; other errors of the write
 */
export const retryConflicts = async <Output>(write: () => Promise<Output>): Promise<Output> => {
  const startMs = performance.now();
  for (let attempt = 1; ; attempt++) {
    const isLast = attempt > MAX_ATTEMPTS || performance.now() - startMs >= RECOVERY_MS;
    try {
      return await write();
    } catch (error) {
      if (!isContention(error)) throw error;
      if (isLast) throw new TransactionContentionError(error);
      const recoveryMs = startMs + RECOVERY_MS - performance.now();
      await sleep(attempt === MAX_ATTEMPTS ? Math.max(recoveryMs, FIRST_DELAY_MS) : delayMs(attempt));
    }
  }
};

/** Returns the positions of the items whose conditions cancelled a transaction. */
const failedConditions = (error: unknown): number[] =>
  error instanceof TransactionCanceledException
    ? reasonsOf(error).flatMap((reason, index) => (reason === 'ConditionalCheckFailed' ? [index] : []))
    : [];

/**
 * Writes up to 100 items (AWS limit) or none. All requests are identical and have one token, so DynamoDB applies the
 * transaction at most once, even if copies arrive late (docs/decisions/storage.md#transactions).
 *
 * @throws FailedConditionsError if conditions failed
 * @throws TransactionContentionError if other transactions use its items, or they are throttled, in every attempt
 * @throws UnconfirmedChangeError if it is unknown whether it was applied
 */
export const transact = async (client: DynamoDBDocumentClient, items: readonly TransactItem[]): Promise<void> => {
  const input = { TransactItems: [...items], ClientRequestToken: randomUUID() };
  // The SDK repeats lost requests, so even one that it reports as throttled may follow one that was applied.
  let isLost = false;
  const send = (): Promise<unknown> => client.send(new TransactWriteCommand(input));
  const sendAgainIfLost = (error: unknown): Promise<unknown> => {
    if (!isDependencyFailure(error)) throw error;
    isLost = true;
    return send();
  };
  try {
    await retryConflicts(() => send().catch(sendAgainIfLost));
  } catch (error) {
    const failed = failedConditions(error);
    if (failed.length > 0) throw new FailedConditionsError(failed, error);
    throw isLost ? new UnconfirmedChangeError(error) : error;
  }
};
