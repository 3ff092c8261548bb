import { setTimeout as sleep } from 'node:timers/promises';
import {
  BatchGetCommand,
  type BatchGetCommandOutput,
  BatchWriteCommand,
  type BatchWriteCommandOutput,
  type DynamoDBDocumentClient,
} from '@aws-sdk/lib-dynamodb';
import { unavailable } from '../../domain/errors.ts';
import { UnprocessedItemsError, UnprocessedKeyError, type WriteRequests } from './errors.ts';

/** Keys of one BatchGetItem (AWS limit). */
const GET_BATCH = 100;
/** Writes of one BatchWriteItem (AWS limit); with items of 350 KB they stay below its 16 MB. */
const WRITE_BATCH = 25;
/** How often unprocessed keys and items are sent, about 3 s in all. */
const ROUNDS = 8;
/** The longest wait before the second read of unprocessed keys, in ms. */
const SECOND_READ_DELAY_MS = 50;

/** The attributes of an item. */
export type Item = Record<string, unknown>;

/** The primary key of an item in a table with a sort key. */
export type ItemKey = { pk: string; sk: string };

/** Which attributes of the items are read; all of them by default. */
export type Projection = { ProjectionExpression?: string; ExpressionAttributeNames?: Record<string, string> };

/** Splits a list into lists of at most `size` items, in order. */
export const inBatches = <Item>(items: readonly Item[], size: number): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));

/** Exponential backoff with jitter, at most 1 s, in ms. */
const backoffMs = (round: number): number => Math.min(25 * 2 ** round, 1_000) * (0.5 + Math.random() / 2);

/** Gets any number of items by key, strongly consistent, each key once. @throws ServiceError serviceUnavailable */
export const batchGet = async (
  client: DynamoDBDocumentClient,
  table: string,
  keys: readonly Item[],
  projection: Projection = {},
): Promise<Item[]> => {
  const found: Item[] = [];
  for (const batch of inBatches(keys, GET_BATCH)) {
    let pending: Item[] | undefined = batch;
    for (let round = 0; pending?.length; round++) {
      if (round === ROUNDS) throw unavailable();
      if (round > 0) await sleep(backoffMs(round));
      const answer: BatchGetCommandOutput = await client.send(
        new BatchGetCommand({ RequestItems: { [table]: { Keys: pending, ConsistentRead: true, ...projection } } }),
      );
      found.push(...(answer.Responses?.[table] ?? []));
      pending = answer.UnprocessedKeys?.[table]?.Keys;
    }
  }
  return found;
};

/** A key that is being read, and its result. */
type Read = PromiseWithResolvers<Item | undefined> & { key: ItemKey };

const keyText = ({ pk, sk }: Item): string => `${pk}\n${sk}`;

/**
 * Starts to read any number of items by key, strongly consistent, 100 to a request and all requests at once. Each key has a
 * result of its own, so that a throttled partition delays and fails nobody else's items: what the first read returns is there
 * at once; keys that it leaves unprocessed are read once more.
 *
 * @param projection must contain `pk` and `sk`
 * @returns a function that resolves to the item of one of the keys, or to undefined for a key without an item. It rejects with
 * UnprocessedKeyError, or with the SDK's error where the read failed altogether
 */
export const readEach = (
  client: DynamoDBDocumentClient,
  table: string,
  keys: readonly ItemKey[],
  projection: Projection = {},
): ((key: ItemKey) => Promise<Item | undefined>) => {
  const reads = new Map<string, Read>(
    keys.map((key) => [keyText(key), { key, ...Promise.withResolvers<Item | undefined>() }]),
  );
  // A caller may need only some of the results: a failure that nobody awaits must not end the process.
  for (const { promise } of reads.values()) promise.catch(() => undefined);

  /** Reads once, and settles what was processed. @returns what was not */
  const readOnce = async (asked: readonly Read[]): Promise<Read[]> => {
    const Keys = asked.map(({ key: { pk, sk } }) => ({ pk, sk }));
    const answer = await client.send(
      new BatchGetCommand({ RequestItems: { [table]: { Keys, ConsistentRead: true, ...projection } } }),
    );
    const items = new Map((answer.Responses?.[table] ?? []).map((item) => [keyText(item), item]));
    const unprocessed = new Set((answer.UnprocessedKeys?.[table]?.Keys ?? []).map(keyText));
    const isOpen = ({ key }: Read) => unprocessed.has(keyText(key));
    for (const read of asked) if (!isOpen(read)) read.resolve(items.get(keyText(read.key)));
    return asked.filter(isOpen);
  };

  /** Where all keys of a request are throttled, BatchGetItem fails, and says why, instead of leaving them unprocessed. */
  const readAgain = async (asked: readonly Read[]): Promise<readonly Read[]> => {
    await sleep(SECOND_READ_DELAY_MS * (0.5 + Math.random() / 2));
    return readOnce(asked);
  };

  const readBatch = async (batch: readonly Read[]): Promise<void> => {
    try {
      const open = await readOnce(batch);
      const stillOpen = open.length > 0 ? await readAgain(open) : [];
      for (const { reject } of stillOpen) reject(new UnprocessedKeyError());
    } catch (error) {
      // Those that are settled already stay as they are.
      for (const { reject } of batch) reject(error);
    }
  };

  for (const batch of inBatches([...reads.values()], GET_BATCH)) void readBatch(batch);

  return async (key) => {
    const read = reads.get(keyText(key));
    if (!read) throw new Error('The key is not among those that are read.');
    return read.promise;
  };
};

/**
 * Puts or deletes any number of items. Not atomic. Items left unprocessed are sent again without the others, up to `rounds`
 * times in all.
 *
 * @throws UnprocessedItemsError where some are still unprocessed then; the SDK's error where a request failed altogether
 */
export const batchWrite = async (
  client: DynamoDBDocumentClient,
  table: string,
  requests: WriteRequests,
  rounds = ROUNDS,
): Promise<void> => {
  let pending = requests;
  for (let round = 0; pending.length > 0; round++) {
    if (round === rounds) throw new UnprocessedItemsError(pending);
    if (round > 0) await sleep(backoffMs(round));
    const open: WriteRequests = [];
    for (const batch of inBatches(pending, WRITE_BATCH)) {
      const answer: BatchWriteCommandOutput = await client.send(
        new BatchWriteCommand({ RequestItems: { [table]: batch } }),
      );
      open.push(...(answer.UnprocessedItems?.[table] ?? []));
    }
    pending = open;
  }
};
