import { type DynamoDBDocumentClient, GetCommand, UpdateCommand, type UpdateCommandInput } from '@aws-sdk/lib-dynamodb';
import { ulid } from 'ulid';
import type * as z from 'zod/mini';
import type { Clock } from '../../domain/clock.ts';
import { notificationLimitReached, unavailable } from '../../domain/errors.ts';
import { unlessConditionFailed } from '../dynamodb/errors.ts';
import { errorTrace, logger } from '../logger.ts';
import { countNotifications } from './notification-count.ts';
import { counterKey, storedCounter } from './notification-counter.ts';

/** The maximum number of attempts at a reservation while other requests correct the counter. */
const MAX_ATTEMPTS = 5;

/** How long a count that found the tenant at its limit is valid, unless a delete is recorded. */
const MAX_COUNT_AGE_MS = 60_000;

type Counter = z.infer<typeof storedCounter>;

/**
 * Limits the notifications of each tenant (table Notifications). A counter is incremented before a create and never
 * decremented, since a repeated delete would decrement it twice. When it reaches the limit, the tenant's notifications
 * are counted and the counter is corrected. A count reads all targets of the tenant, so a count that finds the tenant
 * at its limit is recorded and stays valid until a delete, or for 60 s (docs/decisions/storage.md#notification-quota).
 */
export const createNotificationQuota = (
  client: DynamoDBDocumentClient,
  table: string,
  limit: number,
  clock: Clock = Date.now,
) => {
  /** Updates the counter. @returns false if the condition failed */
  const update = async (
    tenant: string,
    change: Pick<UpdateCommandInput, 'UpdateExpression' | 'ConditionExpression' | 'ExpressionAttributeValues'>,
  ): Promise<boolean> => {
    const request = client.send(new UpdateCommand({ TableName: table, Key: counterKey(tenant), ...change }));
    return (await unlessConditionFailed(request)) !== undefined;
  };

  const increment = (tenant: string): Promise<boolean> =>
    update(tenant, {
      UpdateExpression: 'ADD used :one',
      ConditionExpression: 'attribute_not_exists(used) OR used < :limit',
      ExpressionAttributeValues: { ':one': 1, ':limit': limit },
    });

  const readCounter = async (tenant: string): Promise<Counter> => {
    const { Item } = await client.send(
      new GetCommand({ TableName: table, Key: counterKey(tenant), ConsistentRead: true }),
    );
    return storedCounter.parse(Item);
  };

  /** Sets the counter if it has not changed since it was read. */
  const correct = (tenant: string, read: Counter, used: number): Promise<boolean> =>
    update(tenant, {
      UpdateExpression: 'SET used = :used, correction_id = :correction_id',
      ConditionExpression: `used = :read_used AND ${read.correction_id === undefined ? 'attribute_not_exists(correction_id)' : 'correction_id = :read_correction_id'}`,
      ExpressionAttributeValues: {
        ':used': used,
        ':correction_id': ulid(),
        ':read_used': read.used,
        ...(read.correction_id !== undefined && { ':read_correction_id': read.correction_id }),
      },
    });

  /**
   * Returns whether a recent count found the tenant at its limit. Ignores a count from a clock more than 60 s ahead.
   */
  const isKnownFull = ({ counted_full_at_ms: countedAtMs }: Counter): boolean =>
    countedAtMs !== undefined && Math.abs(clock() - countedAtMs) < MAX_COUNT_AGE_MS;

  /** Records that a count found the tenant at its limit, unless a delete was recorded since the counter was read. */
  const recordFull = async (tenant: string, read: Counter, countedAtMs: number): Promise<void> => {
    const change = {
      UpdateExpression: 'SET counted_full_at_ms = :at',
      ConditionExpression:
        read.last_delete_id === undefined ? 'attribute_not_exists(last_delete_id)' : 'last_delete_id = :delete_id',
      ExpressionAttributeValues: {
        ':at': countedAtMs,
        ...(read.last_delete_id !== undefined && { ':delete_id': read.last_delete_id }),
      },
    };
    await update(tenant, change).catch((error: unknown) =>
      logger.warn('notification quota: full account not recorded', { tenant_id: tenant, ...errorTrace(error) }),
    );
  };

  return {
    /**
     * Reserves one more notification for the tenant. Concurrent creates may exceed the limit.
     *
     * @throws ServiceError forbiddenError if the tenant is at its limit
     */
    async reserve(tenant: string): Promise<void> {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        if (await increment(tenant)) return;
        const counter = await readCounter(tenant);
        if (isKnownFull(counter)) throw notificationLimitReached(limit);
        const countedAtMs = clock();
        const stored = await countNotifications(client, table, tenant, { isConsistent: true, upTo: limit });
        if (stored >= limit) {
          await recordFull(tenant, counter, countedAtMs);
          throw notificationLimitReached(limit);
        }
        if (await correct(tenant, counter, stored + 1)) return;
      }
      throw unavailable();
    },
  };
};

/** Limits the notifications of each tenant. */
export type NotificationQuota = ReturnType<typeof createNotificationQuota>;
