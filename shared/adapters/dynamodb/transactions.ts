import { randomUUID } from 'node:crypto';
import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import {
  type DynamoDBDocumentClient,
  TransactWriteCommand,
  type TransactWriteCommandInput,
} from '@aws-sdk/lib-dynamodb';
import { isDependencyFailure } from '../aws-client.ts';
import { reasonsOf, retryConflicts } from './conditional-writes.ts';
import { UnconfirmedChangeError } from './errors.ts';

/** A put, update, delete or condition of one item in a transaction. */
export type TransactItem = NonNullable<TransactWriteCommandInput['TransactItems']>[number];

const hasFailed = (error: unknown, position: number): boolean =>
  error instanceof TransactionCanceledException && reasonsOf(error)[position] === 'ConditionalCheckFailed';

/** Items by the names by which failed conditions are returned; those without a value are omitted. */
type NamedItems = Readonly<Record<string, TransactItem | readonly TransactItem[] | undefined>>;

const namedItems = <Items extends NamedItems>(items: Items): { name: keyof Items; item: TransactItem }[] =>
  Object.keys(items).flatMap((name) => [items[name] ?? []].flat().map((item) => ({ name, item })));

/**
 * Writes up to 100 items (AWS limit) or none. All requests have one token, so late copies are not applied again
 * (docs/decisions/storage.md#transactions). @returns the names of failed conditions: none if all items were written
 * @throws TransactionContentionError, UnconfirmedChangeError
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
