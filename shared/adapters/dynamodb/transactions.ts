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

/** Returns whether the condition of the item at a position cancelled a transaction. */
const hasFailed = (error: unknown, position: number): boolean =>
  error instanceof TransactionCanceledException && reasonsOf(error)[position] === 'ConditionalCheckFailed';

/** The items of a transaction by name. */
type NamedItems = Readonly<Record<string, TransactItem | readonly TransactItem[] | undefined>>;

const namedItems = <Items extends NamedItems>(items: Items): { name: keyof Items; item: TransactItem }[] =>
  Object.keys(items).flatMap((name) => [items[name] ?? []].flat().map((item) => ({ name, item })));

/**
 * Writes up to 100 items (AWS limit) or none. All requests are identical and have one token, so DynamoDB applies the
 * transaction at most once, even if copies arrive late (docs/decisions/storage.md#transactions).
 *
 * @param items by the names by which conditions that failed are returned; those without a value are omitted
 * @returns the names of the items whose conditions failed: none if all items were written
 * @throws TransactionContentionError if other transactions use its items, or they are throttled, in every attempt
 * @throws UnconfirmedChangeError if it is unknown whether it was applied
 */
export const transact = async <Items extends NamedItems>(
  client: DynamoDBDocumentClient,
  items: Items,
): Promise<(keyof Items)[]> => {
  const named = namedItems(items);
  const input = { TransactItems: named.map(({ item }) => item), ClientRequestToken: randomUUID() };
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
    return [];
  } catch (error) {
    const failed = named.filter((_, position) => hasFailed(error, position)).map(({ name }) => name);
    if (failed.length > 0) return failed;
    throw isLost ? new UnconfirmedChangeError(error) : error;
  }
};
