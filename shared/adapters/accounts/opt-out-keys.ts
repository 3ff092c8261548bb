import { randomBytes } from 'node:crypto';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import type { Clock } from '../../domain/time.ts';
import { createConditionalUpdate } from '../dynamodb/conditional-writes.ts';
import { getItem, type Item } from '../dynamodb/items.ts';

/** The item of the stack with the key of opt-out links (table Accounts). It belongs to no tenant. */
const KEY = { pk: 'opt_out_keys' };

const storedKey = z.object({ current: z.optional(z.string()) });

const CACHE_MS = 60_000;

const keyOf = (item: Item | undefined): Buffer | undefined => {
  const { current } = storedKey.parse(item ?? {});
  return current === undefined ? undefined : Buffer.from(current, 'base64');
};

/** The key of opt-out links (docs/decisions/opt-out.md). If its item is deleted, the next email creates another one. */
export const createOptOutKeys = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => {
  let cached: { key: Promise<Buffer>; untilMs: number } | undefined;

  const find = async (): Promise<Buffer | undefined> => keyOf(await getItem(client, table, KEY));

  const create = async (): Promise<Buffer | undefined> => {
    const { item } = await createConditionalUpdate(client, table)(KEY, {
      UpdateExpression: 'SET #current = if_not_exists(#current, :key)',
      ExpressionAttributeNames: { '#current': 'current' },
      ExpressionAttributeValues: { ':key': randomBytes(32).toString('base64') },
    });
    return keyOf(item);
  };

  const readCurrent = async (): Promise<Buffer> => {
    const key = (await find()) ?? (await create());
    if (!key) throw new Error('There is no key of opt-out links after its creation.');
    return key;
  };

  return {
    find,

    current(): Promise<Buffer> {
      if (cached && cached.untilMs > clock()) return cached.key;
      const key = readCurrent();
      cached = { key, untilMs: clock() + CACHE_MS };
      key.catch(() => {
        cached = undefined;
      });
      return key;
    },
  };
};

export type OptOutKeys = ReturnType<typeof createOptOutKeys>;
