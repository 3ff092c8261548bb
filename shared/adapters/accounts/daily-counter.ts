import { randomBytes } from 'node:crypto';
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import type { Clock } from '../../domain/clock.ts';
import { DAY_MS, DAY_SECONDS, utcDay } from '../../domain/day.ts';
import { batchGet } from '../dynamodb/batches.ts';
import { unlessConditionFailed, wasRepeated } from '../dynamodb/errors.ts';

/** What a counter counts. The item of a tenant and UTC day has `used`, `ttl` and the last writes, `w0` to `w31`. */
export type DailyCounter = 'tests' | 'sms' | 'email' | 'managed' | 'email_notices' | 'managed_notices' | 'redeliveries';

const storedCounter = z.object({ pk: z.string(), used: z._default(z.number(), 0) });

/** Returns the primary key of a counter on the UTC day of a time in ms since the epoch. */
const counterKey = (counter: DailyCounter, tenant: string, timeMs: number) => ({
  pk: `${counter}#${utcDay(timeMs)}#${tenant}`,
});

/**
 * Slots in which a counter stores the IDs of its last writes, each in a random slot. A repeated write finds its own ID
 * unless another write has used the same slot since. All slots fit into one write capacity unit (1 KB).
 */
const WRITE_SLOTS = 32;

/** Counts messages per tenant and UTC day (table Accounts). */
export const createDailyCounters = (
  client: DynamoDBDocumentClient,
  table: string,
  clock: Clock = Date.now,
  random: () => number = Math.random,
) => ({
  /**
   * Adds `amount` to a tenant's counter of the current UTC day, exactly once even if the SDK repeats the request.
   *
   * @returns false, with nothing added, if the counter would exceed `limit`
   */
  async count(counter: DailyCounter, tenant: string, amount: number, limit: number): Promise<boolean> {
    if (amount > limit) return false;
    const nowMs = clock();
    const slot = `w${Math.floor(random() * WRITE_SLOTS)}`;
    const writeId = randomBytes(6).toString('base64url');
    const ttl = Math.floor(nowMs / 1000) + 2 * DAY_SECONDS;
    const update = (expression: string, condition: string, values: Record<string, number>) =>
      client.send(
        new UpdateCommand({
          TableName: table,
          Key: counterKey(counter, tenant, nowMs),
          UpdateExpression: expression,
          ConditionExpression: condition,
          ExpressionAttributeNames: { '#slot': slot, '#ttl': 'ttl' },
          ExpressionAttributeValues: { ':ttl': ttl, ':write': writeId, ...values },
        }),
      );
    /**
     * Returns whether the write was applied. Uses an update without effect, since some callers have no permission to
     * read the table.
     */
    const wasApplied = async (): Promise<boolean> =>
      (await unlessConditionFailed(update('SET #ttl = :ttl', '#slot = :write', {}))) !== undefined;
    try {
      await update(
        'SET #ttl = :ttl, #slot = :write ADD used :amount',
        '(attribute_not_exists(used) OR used <= :max_used) AND (attribute_not_exists(#slot) OR #slot <> :write)',
        { ':amount': amount, ':max_used': limit - amount },
      );
      return true;
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      return wasRepeated(error) && (await wasApplied());
    }
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
      dayEndsAtMs: (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS,
    };
  },
});

/** Counts messages per tenant and UTC day. */
export type DailyCounters = ReturnType<typeof createDailyCounters>;

/**
 * Adds as much of `amount` to a tenant's counter as the limit permits, with one write if that is all of it.
 *
 * @returns the amount added
 */
export const countUpTo = async (
  counters: DailyCounters,
  counter: DailyCounter,
  tenant: string,
  amount: number,
  limit: number,
): Promise<number> => {
  let counted = 0;
  let step = amount;
  while (step > 0) {
    if (await counters.count(counter, tenant, step, limit)) {
      counted += step;
      step = Math.min(step, amount - counted);
    } else {
      step = Math.floor(step / 2);
    }
  }
  return counted;
};
