import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import {
  type DynamoDBDocumentClient,
  GetCommand,
  paginateQuery,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import { ulid } from 'ulid';
import * as z from 'zod/mini';
import { ServiceError, unavailable } from '../domain/errors.ts';
import { targetPartition } from './notification-items.ts';

/** How often a reservation starts over because others corrected the counter meanwhile. */
const ROUNDS = 5;

const counterKey = (tenant: string) => ({ pk: `quota#${tenant}`, sk: 'notifications' });

const storedCounter = z.object({
  /** At least the tenant's notifications, but for those that were being created when the counter was corrected. */
  used: z.number(),
  /** A new one for each correction, so that a delayed duplicate of an earlier one does nothing. */
  correction: z.optional(z.string()),
});

/**
 * Limits the notifications of each tenant (table Notifications). A counter goes up before a create and never down: a delete
 * whose request is repeated would otherwise make room twice. When it reaches the limit, the tenant's notifications are counted
 * and the counter is corrected.
 */
export const createNotificationQuota = (client: DynamoDBDocumentClient, table: string, limit: number) => {
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

  const readCounter = async (tenant: string): Promise<z.infer<typeof storedCounter>> => {
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
  const correct = (tenant: string, seen: z.infer<typeof storedCounter>, used: number): Promise<boolean> =>
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
        const stored = await countNotifications(tenant);
        if (stored >= limit) {
          throw new ServiceError('forbiddenError', 'The account has as many notifications as it may have.', {
            details: `notificationsPerTenant: at most ${limit} notifications in an account`,
          });
        }
        if (await correct(tenant, counter, stored + 1)) return;
      }
      throw unavailable();
    },
  };
};

/** Limits the notifications of each tenant. */
export type NotificationQuota = ReturnType<typeof createNotificationQuota>;
