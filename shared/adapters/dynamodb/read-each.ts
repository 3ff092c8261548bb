import { setTimeout as sleep } from 'node:timers/promises';
import { BatchGetCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { inBatches } from '../../domain/in-batches.ts';
import { UnprocessedKeyError } from './errors.ts';
import type { Item, Projection } from './items.ts';

/** The maximum number of keys in a BatchGetItem request (AWS limit). */
export const MAX_BATCH_KEYS = 100;
const SECOND_READ_DELAY_MS = 50;

/** Reads up to 100 items of one table by key (AWS limit), strongly consistent by default. */
export const batchGetItems = async (
  client: DynamoDBDocumentClient,
  table: string,
  { keys, ...options }: { keys: readonly Item[]; ConsistentRead?: boolean } & Projection,
): Promise<{ items: Item[]; unprocessedKeys: Item[] }> => {
  const request = { Keys: [...keys], ConsistentRead: true, ...options };
  const { Responses, UnprocessedKeys } = await client.send(new BatchGetCommand({ RequestItems: { [table]: request } }));
  return { items: Responses?.[table] ?? [], unprocessedKeys: UnprocessedKeys?.[table]?.Keys ?? [] };
};

export type ItemKey = { pk: string; sk: string };

type Read = PromiseWithResolvers<Item | undefined> & { key: ItemKey };

const keyText = ({ pk, sk }: Item): string => `${pk}\n${sk}`;

type Unresolved = { missing: Read[]; unprocessed: Read[] };

/**
 * Starts to read items by key. Each key resolves independently, so a throttled partition neither delays nor fails
 * others; unprocessed keys are read once more. Not `isConsistent` costs half: only a missing item is read again,
 * consistent. `projection` includes `pk` and `sk`. @throws UnprocessedKeyError or the error of the request
 */
export const readEach = (
  client: DynamoDBDocumentClient,
  table: string,
  keys: readonly ItemKey[],
  projection: Projection = {},
  isConsistent = true,
): ((key: ItemKey) => Promise<Item | undefined>) => {
  const reads = new Map<string, Read>(
    keys.map((key) => [keyText(key), { key, ...Promise.withResolvers<Item | undefined>() }]),
  );
  // Callers may await only some results: an unhandled rejection would end the process.
  for (const { promise } of reads.values()) promise.catch(() => undefined);

  /** Resolves the keys with an item, and those without one if the read is strongly consistent. */
  const readOnce = async (batch: readonly Read[], isConsistentRead: boolean): Promise<Unresolved> => {
    const batchKeys = batch.map(({ key: { pk, sk } }) => ({ pk, sk }));
    const found = await batchGetItems(client, table, {
      keys: batchKeys,
      ConsistentRead: isConsistentRead,
      ...projection,
    });
    const items = new Map(found.items.map((item) => [keyText(item), item]));
    const unprocessedKeys = new Set(found.unprocessedKeys.map(keyText));
    const unresolved: Unresolved = { missing: [], unprocessed: [] };
    for (const read of batch) {
      const item = items.get(keyText(read.key));
      if (unprocessedKeys.has(keyText(read.key))) unresolved.unprocessed.push(read);
      else if (item || isConsistentRead) read.resolve(item);
      else unresolved.missing.push(read);
    }
    return unresolved;
  };

  /** If all keys of a request are throttled, BatchGetItem fails with the reason instead of leaving them unprocessed. */
  const readAgain = async ({ missing, unprocessed }: Unresolved): Promise<readonly Read[]> => {
    if (unprocessed.length > 0) await sleep(SECOND_READ_DELAY_MS * (0.5 + Math.random() / 2));
    return (await readOnce([...missing, ...unprocessed], true)).unprocessed;
  };

  const readBatch = async (batch: readonly Read[]): Promise<void> => {
    try {
      const unresolved = await readOnce(batch, isConsistent);
      const isResolved = unresolved.missing.length + unresolved.unprocessed.length === 0;
      const stillUnprocessed = isResolved ? [] : await readAgain(unresolved);
      for (const { reject } of stillUnprocessed) reject(new UnprocessedKeyError());
    } catch (error) {
      // Has no effect on reads that are already resolved.
      for (const { reject } of batch) reject(error);
    }
  };

  for (const batch of inBatches([...reads.values()], MAX_BATCH_KEYS)) void readBatch(batch);

  return async (key) => {
    const read = reads.get(keyText(key));
    if (!read) throw new Error('The key is not being read.');
    return read.promise;
  };
};
