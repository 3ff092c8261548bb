import { setTimeout as pause } from 'node:timers/promises';
import {
  BatchGetCommand,
  type BatchGetCommandOutput,
  BatchWriteCommand,
  type BatchWriteCommandInput,
  type BatchWriteCommandOutput,
  type DynamoDBDocumentClient,
} from '@aws-sdk/lib-dynamodb';
import { batches } from '../domain/batches.ts';
import { unavailable } from '../domain/errors.ts';

/** Keys of one BatchGetItem (AWS limit). */
const GET_BATCH = 100;
/** Writes of one BatchWriteItem (AWS limit); with items of 350 KB they stay below its 16 MB. */
const WRITE_BATCH = 25;
/** Rounds of unprocessed rests before the table counts as unavailable, about 3 s in all. */
const ROUNDS = 8;

type Item = Record<string, unknown>;
type WriteRequests = NonNullable<BatchWriteCommandInput['RequestItems']>[string];

/** Which attributes of the items are read; all of them by default. */
export type Projection = { ProjectionExpression?: string; ExpressionAttributeNames?: Record<string, string> };

/** Sends a request and then its unprocessed rests until nothing is left. @throws ServiceError serviceUnavailable */
const untilDone = async <Request>(first: Request[], send: (requests: Request[]) => Promise<Request[] | undefined>) => {
  let pending: Request[] | undefined = first;
  for (let round = 0; pending?.length; round++) {
    if (round === ROUNDS) throw unavailable();
    if (round > 0) await pause(Math.min(25 * 2 ** round, 1_000) * (0.5 + Math.random() / 2));
    pending = await send(pending);
  }
};

/** Gets any number of items by key, strongly consistent, each key once. @throws ServiceError serviceUnavailable */
export const batchGet = async (
  client: DynamoDBDocumentClient,
  table: string,
  keys: readonly Item[],
  projection: Projection = {},
): Promise<Item[]> => {
  const found: Item[] = [];
  for (const batch of batches(keys, GET_BATCH)) {
    await untilDone(batch, async (Keys) => {
      const answer: BatchGetCommandOutput = await client.send(
        new BatchGetCommand({ RequestItems: { [table]: { Keys, ConsistentRead: true, ...projection } } }),
      );
      found.push(...(answer.Responses?.[table] ?? []));
      return answer.UnprocessedKeys?.[table]?.Keys;
    });
  }
  return found;
};

/** Puts or deletes any number of items. Not atomic. @throws ServiceError serviceUnavailable */
export const batchWrite = async (
  client: DynamoDBDocumentClient,
  table: string,
  requests: WriteRequests,
): Promise<void> => {
  for (const batch of batches(requests, WRITE_BATCH)) {
    await untilDone(batch, async (pending) => {
      const answer: BatchWriteCommandOutput = await client.send(
        new BatchWriteCommand({ RequestItems: { [table]: pending } }),
      );
      return answer.UnprocessedItems?.[table];
    });
  }
};
