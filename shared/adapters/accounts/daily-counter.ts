import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import type { Clock } from '../../domain/clock.ts';
import { DAY_SECONDS, dayEndMs, utcDay } from '../../domain/day.ts';
import { awsConfig, createDocumentClient } from '../aws-client.ts';
import { batchGet } from '../dynamodb/batches.ts';
import { createConditionalUpdate } from '../dynamodb/conditional-writes.ts';
import { FailedConditionsError, type TransactItem, transact } from '../dynamodb/transactions.ts';

/**
 * What a counter counts. The item of a tenant and UTC day has `used` and `ttl`.
 */
export type DailyCounter =
  | 'tests'
  | 'sms'
  | 'email'
  | 'managed'
  | 'sms_notices'
  | 'email_notices'
  | 'managed_notices'
  | 'sms_summaries'
  | 'email_summaries'
  | 'redeliveries';

const storedCounter = z.object({ pk: z.string(), used: z._default(z.number(), 0) });

/** Returns the primary key of a counter on the UTC day of a time in ms since the epoch. */
export const counterKey = (counter: DailyCounter, tenant: string, timeMs: number) => ({
  pk: `${counter}#${utcDay(timeMs)}#${tenant}`,
});

/** Counts messages per tenant and UTC day (table Accounts). */
export const createDailyCounters = (
  client: DynamoDBDocumentClient,
  table: string,
  clock: Clock = Date.now,
  connectOnce = () => createDocumentClient({ ...awsConfig(), maxAttempts: 1 }),
) => {
  const update = createConditionalUpdate(client, table);
  let onceClient: DynamoDBDocumentClient | undefined;

  /** Returns the update that adds `amount` to a counter unless it would exceed `limit`. */
  const addition = (amount: number, limit: number, timeMs: number) => ({
    UpdateExpression: 'SET #ttl = :ttl ADD used :amount',
    ConditionExpression: 'attribute_not_exists(used) OR used <= :max_used',
    ExpressionAttributeNames: { '#ttl': 'ttl' },
    ExpressionAttributeValues: {
      ':ttl': Math.floor(timeMs / 1000) + 2 * DAY_SECONDS,
      ':amount': amount,
      ':max_used': limit - amount,
    },
  });

  return {
    /**
     * Adds `amount` to a tenant's counter of the UTC day of a time, by default the current one. If the response is lost and
     * the SDK repeats the request, it may count twice, which reaches the limit earlier, never later.
     *
     * @returns false, with nothing added, if the counter would exceed `limit`
     */
    async count(
      counter: DailyCounter,
      tenant: string,
      amount: number,
      limit: number,
      nowMs = clock(),
    ): Promise<boolean> {
      if (amount > limit) return false;
      const key = counterKey(counter, tenant, nowMs);
      return (await update(key, addition(amount, limit, nowMs))).isWritten;
    },

    /**
     * Adds `amount` to the counter of the current day like `count`, in one transaction with the audit entry of what is
     * counted. It counts once, even if its response is lost.
     *
     * @throws UnconfirmedChangeError
     */
    async countWith(
      entry: TransactItem,
      counter: DailyCounter,
      tenant: string,
      amount: number,
      limit: number,
    ): Promise<boolean> {
      if (amount > limit) return false;
      const nowMs = clock();
      const Update = {
        TableName: table,
        Key: counterKey(counter, tenant, nowMs),
        ...addition(amount, limit, nowMs),
      };
      try {
        await transact(client, [{ Update }, entry]);
        return true;
      } catch (error) {
        if (error instanceof FailedConditionsError) return false;
        throw error;
      }
    },

    /**
     * Subtracts `amount`, which was added at a time, from the counter of its UTC day. The SDK does not repeat the request,
     * which could subtract it twice.
     */
    async giveBack(counter: DailyCounter, tenant: string, amount: number, countedAtMs: number): Promise<void> {
      onceClient ??= connectOnce();
      await createConditionalUpdate(onceClient, table)(counterKey(counter, tenant, countedAtMs), {
        UpdateExpression: 'ADD used :amount',
        ConditionExpression: 'used >= :counted',
        ExpressionAttributeValues: { ':amount': -amount, ':counted': amount },
      });
    },

    /**
     * Returns how much of each of the tenant's counters is used on the current UTC day, and the end of that day in ms
     * since the epoch.
     *
     * @throws ServiceError serviceUnavailable if a counter cannot be read
     */
    async used<Counter extends DailyCounter>(
      counters: readonly Counter[],
      tenant: string,
    ): Promise<{ used: (counter: Counter) => number; dayEndsAtMs: number }> {
      const nowMs = clock();
      const keys = counters.map((counter) => counterKey(counter, tenant, nowMs));
      const items = (await batchGet(client, table, keys)).map((item) => storedCounter.parse(item));
      const amounts = new Map(items.map(({ pk, used }) => [pk, used]));
      return {
        used: (counter) => amounts.get(counterKey(counter, tenant, nowMs).pk) ?? 0,
        dayEndsAtMs: dayEndMs(nowMs),
      };
    },
  };
};

/** Counts messages per tenant and UTC day. */
export type DailyCounters = ReturnType<typeof createDailyCounters>;

/**
 * Counts as much of `amount` as a limit permits, with one write if that is all of it.
 *
 * @param count counts an amount, unless it returns false
 * @returns the amount counted
 */
export const countUpTo = async (amount: number, count: (step: number) => Promise<boolean>): Promise<number> => {
  let counted = 0;
  let step = amount;
  while (step > 0) {
    if (await count(step)) {
      counted += step;
      step = Math.min(step, amount - counted);
    } else {
      step = Math.floor(step / 2);
    }
  }
  return counted;
};
