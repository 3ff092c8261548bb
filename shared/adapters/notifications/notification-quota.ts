import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import {
  type DynamoDBDocumentClient,
  GetCommand,
  paginateQuery,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import { ulid } from 'ulid';
import type * as z from 'zod/mini';
import type { Clock } from '../../domain/clock.ts';
import { ServiceError, unavailable } from '../../domain/errors.ts';
import { errorTrace, logger } from '../logger.ts';
import { counterKey, storedCounter } from './notification-counter.ts';
import { targetPartition } from './notification-items.ts';

/** How often a reservation starts over because others corrected the counter meanwhile. */
const ROUNDS = 5;

/** How long a tenant is taken to be at its limit after a count, unless a delete is recorded, in ms. */
const COUNT_AGE_MS = 60_000;

type Counter = z.infer<typeof storedCounter>;

/**
 * Limits the notifications of each tenant (table Notifications). A counter goes up before a create and never down: a delete
 * whose request is repeated would otherwise make room twice. When it reaches the limit, the tenant's notifications are counted
 * and the counter is corrected. A count reads all targets of the tenant, so one that finds the tenant at its limit is recorded,
 * and the next one waits for a delete, or for 60 seconds.
 */
export const createNotificationQuota = (
  client: DynamoDBDocumentClient,
  table: string,
  limit: number,
  clock: Clock = Date.now,
) => {
  /** @returns false where the condition failed */
  const update = async (
    tenant: string,
    change: Pick<UpdateCommandInput, 'UpdateExpression' | 'ConditionExpression' | 'ExpressionAttributeValues'>,
  ): Promise<boolean> => {
    try {
      await client.send(new UpdateCommand({ TableName: table, Key: counterKey(tenant), ...change }));
      return true;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return false;
      throw error;
    }
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

  /** The tenant's notifications, strongly consistent; stops counting at the limit. */
  const countNotifications = async (tenant: string): Promise<number> => {
    let counted = 0;
    const pages = paginateQuery(
      { client },
      {
        TableName: table,
        Select: 'COUNT',
        KeyConditionExpression: 'pk = :pk',
        // What a delete leaves has no version.
        FilterExpression: 'attribute_exists(version)',
        ExpressionAttributeValues: { ':pk': targetPartition(tenant) },
        ConsistentRead: true,
      },
    );
    for await (const { Count = 0 } of pages) {
      counted += Count;
      if (counted >= limit) break;
    }
    return counted;
  };

  /** Sets the counter, unless it was changed since it was read. */
  const correct = (tenant: string, seen: Counter, used: number): Promise<boolean> =>
    update(tenant, {
      UpdateExpression: 'SET used = :used, correction = :correction',
      ConditionExpression: `used = :seen AND ${seen.correction === undefined ? 'attribute_not_exists(correction)' : 'correction = :last'}`,
      ExpressionAttributeValues: {
        ':used': used,
        ':correction': ulid(),
        ':seen': seen.used,
        ...(seen.correction !== undefined && { ':last': seen.correction }),
      },
    });

  /** The count may be by another machine's clock: where that was far ahead, the tenant is counted once more. */
  const isKnownFull = ({ counted_full_at_ms: countedAt }: Counter): boolean =>
    countedAt !== undefined && Math.abs(clock() - countedAt) < COUNT_AGE_MS;

  /** Records a count that found the tenant at its limit, unless something was deleted since the counter was read. */
  const recordFull = async (tenant: string, seen: Counter, countedAt: number): Promise<void> => {
    const change = {
      UpdateExpression: 'SET counted_full_at_ms = :at',
      ConditionExpression:
        seen.last_delete === undefined ? 'attribute_not_exists(last_delete)' : 'last_delete = :delete',
      ExpressionAttributeValues: {
        ':at': countedAt,
        ...(seen.last_delete !== undefined && { ':delete': seen.last_delete }),
      },
    };
    await update(tenant, change).catch((error: unknown) =>
      logger.warn('notification quota: full account not recorded', { tenant_id: tenant, ...errorTrace(error) }),
    );
  };

  const refusal = () =>
    new ServiceError('forbiddenError', 'The account has as many notifications as it may have.', {
      details: `notificationsPerTenant: at most ${limit} notifications in an account`,
    });

  return {
    /**
     * Reserves room for one more notification of the tenant. Creates in flight may exceed the limit.
     *
     * @throws ServiceError forbiddenError where the tenant has as many notifications as it may have
     */
    async reserve(tenant: string): Promise<void> {
      for (let round = 0; round < ROUNDS; round++) {
        if (await increment(tenant)) return;
        const counter = await readCounter(tenant);
        if (isKnownFull(counter)) throw refusal();
        const countedAt = clock();
        const stored = await countNotifications(tenant);
        if (stored >= limit) {
          await recordFull(tenant, counter, countedAt);
          throw refusal();
        }
        if (await correct(tenant, counter, stored + 1)) return;
      }
      throw unavailable();
    },
  };
};

/** Limits the notifications of each tenant. */
export type NotificationQuota = ReturnType<typeof createNotificationQuota>;
