import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { DAY_SECONDS, utcDay } from '../../domain/time.ts';
import { awsConfig, createDocumentClient } from '../aws-client.ts';
import { batchGet } from './batches.ts';
import { createConditionalUpdate } from './conditional-writes.ts';
import { type TransactItem, transact } from './transactions.ts';

export type MessageCounter =
  | 'sms'
  | 'email'
  | 'managed'
  | `${'sms' | 'email' | 'managed'}_notices`
  | `${'sms' | 'email'}_summaries`;

type DailyCounter =
  | MessageCounter
  | 'tests'
  | 'redeliveries'
  | 'escalations'
  | 'ok_escalations'
  | `sent_${'escalations' | 'ok_escalations'}`
  | 'stops';

/** A counter in its period: the key of its item, and when that expires, in seconds since the epoch. */
export type Counter = { key: { pk: string; sk?: string }; ttl: number };

/** Returns the counter of a tenant on the UTC day of a time in ms since the epoch (table Accounts). */
export const dailyCounter = (name: DailyCounter, tenant: string, timeMs: number): Counter => ({
  key: { pk: `${name}#${utcDay(timeMs)}#${tenant}` },
  ttl: Math.floor(timeMs / 1000) + 2 * DAY_SECONDS,
});

const storedCounter = z.object({
  used: z._default(z.number(), 0),
  ids: z._default(z.set(z.string()), new Set()),
});

/** Counts up to a limit. An item has `used` or `ids`, and `ttl`. */
export const createCounters = (
  client: DynamoDBDocumentClient,
  table: string,
  connect = (options: { maxAttempts: number }) => createDocumentClient({ ...awsConfig(), ...options }),
) => {
  const update = createConditionalUpdate(client, table);
  let onceClient: DynamoDBDocumentClient | undefined;

  return {
    /**
     * Adds an amount. A repetition by the SDK may count twice; with an audit entry, it does not. @returns false, with
     * nothing added, if the counter would exceed the limit @throws UnconfirmedChangeError if there is an entry
     */
    async take(
      { key, ttl }: Counter,
      { amount, limit, entry }: { amount: number; limit: number; entry?: TransactItem | undefined },
    ): Promise<boolean> {
      if (amount > limit) return false;
      const addition = {
        UpdateExpression: 'SET #ttl = :ttl ADD used :amount',
        ConditionExpression: 'attribute_not_exists(used) OR used <= :max_used',
        ExpressionAttributeNames: { '#ttl': 'ttl' },
        ExpressionAttributeValues: { ':ttl': ttl, ':amount': amount, ':max_used': limit - amount },
      };
      if (!entry) return (await update(key, addition)).isWritten;
      const counter = { Update: { TableName: table, Key: key, ...addition } };
      return (await transact(client, { counter, entry })).length === 0;
    },

    /** Adds an ID, which counts once. @returns false if the counter has `limit` other IDs */
    async takeOnce({ key, ttl }: Counter, id: string, limit: number): Promise<boolean> {
      const { isWritten } = await update(key, {
        UpdateExpression: 'SET #ttl = :ttl ADD ids :ids',
        ConditionExpression: 'attribute_not_exists(ids) OR size(ids) < :limit OR contains(ids, :id)',
        ExpressionAttributeNames: { '#ttl': 'ttl' },
        ExpressionAttributeValues: { ':ttl': ttl, ':ids': new Set([id]), ':id': id, ':limit': limit },
      });
      return isWritten;
    },

    /** Subtracts an amount that was taken. The SDK does not repeat the request, which could subtract it twice. */
    async giveBack({ key }: Counter, amount: number): Promise<void> {
      onceClient ??= connect({ maxAttempts: 1 });
      await createConditionalUpdate(onceClient, table)(key, {
        UpdateExpression: 'ADD used :amount',
        ConditionExpression: 'used >= :counted',
        ExpressionAttributeValues: { ':amount': -amount, ':counted': amount },
      });
    },

    /** Returns the function that returns the count of one of these. @throws ServiceError serviceUnavailable */
    async read(counters: readonly Counter[]): Promise<(counter: Counter) => z.infer<typeof storedCounter>> {
      const keys = counters.map(({ key }) => key);
      const items = new Map((await batchGet(client, table, keys)).map((item) => [item.pk, item]));
      return ({ key }) => storedCounter.parse(items.get(key.pk) ?? {});
    },
  };
};
export type Counters = ReturnType<typeof createCounters>;

/** Takes as much of an amount as `take` permits, with one write if that is all of it. @returns the amount taken */
export const takeUpTo = async (amount: number, take: (step: number) => Promise<boolean>): Promise<number> => {
  let taken = 0;
  let step = amount;
  while (step > 0) {
    if (await take(step)) {
      taken += step;
      step = Math.min(step, amount - taken);
    } else {
      step = Math.floor(step / 2);
    }
  }
  return taken;
};
