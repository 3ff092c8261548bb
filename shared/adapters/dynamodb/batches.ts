import { setTimeout as sleep } from 'node:timers/promises';
import { BatchWriteCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { unavailable } from '../../domain/errors.ts';
import { inBatches } from '../../domain/in-batches.ts';
import { UnprocessedItemsError, UnprocessedKeyError } from './errors.ts';
import type { Item, Projection, WriteRequest } from './items.ts';
import { batchGetItems, MAX_BATCH_KEYS } from './read-each.ts';

/** AWS limit. 25 items of 350 KB stay below the 16 MB of a request. */
const MAX_BATCH_WRITES = 25;
/** The maximum number of attempts to process all keys or items, about 3 s in total. */
const MAX_ATTEMPTS = 8;
const backoffMs = (attempt: number): number => Math.min(25 * 2 ** attempt, 1_000) * (0.5 + Math.random() / 2);

/** Reads items by distinct keys, strongly consistent. @throws ServiceError serviceUnavailable */
export const batchGet = async (
  client: DynamoDBDocumentClient,
  table: string,
  keys: readonly Item[],
  projection: Projection = {},
): Promise<Item[]> => {
  const found: Item[] = [];
  for (const batch of inBatches(keys, MAX_BATCH_KEYS)) {
    let pending = batch;
    for (let attempt = 0; pending.length > 0; attempt++) {
      if (attempt === MAX_ATTEMPTS) throw unavailable(new UnprocessedKeyError());
      if (attempt > 0) await sleep(backoffMs(attempt));
      const { items, unprocessedKeys } = await batchGetItems(client, table, { keys: pending, ...projection });
      found.push(...items);
      pending = unprocessedKeys;
    }
  }
  return found;
};

/** Puts or deletes items, not atomically. @throws UnprocessedItemsError if items stay unprocessed; the SDK's errors */
export const batchWrite = async (
  client: DynamoDBDocumentClient,
  table: string,
  requests: readonly WriteRequest[],
  maxAttempts = MAX_ATTEMPTS,
): Promise<void> => {
  let pending = requests;
  for (let attempt = 0; pending.length > 0; attempt++) {
    if (attempt === maxAttempts) throw new UnprocessedItemsError(pending);
    if (attempt > 0) await sleep(backoffMs(attempt));
    const unprocessed: WriteRequest[] = [];
    for (const batch of inBatches(pending, MAX_BATCH_WRITES)) {
      const { UnprocessedItems } = await client.send(new BatchWriteCommand({ RequestItems: { [table]: batch } }));
      unprocessed.push(...(UnprocessedItems?.[table] ?? []));
    }
    pending = unprocessed;
  }
};
