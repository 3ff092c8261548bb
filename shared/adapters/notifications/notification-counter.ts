import { type DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { ulid } from 'ulid';
import * as z from 'zod/mini';
import { errorTrace, logger } from '../logger.ts';

/** The primary key of the counter of a tenant's notifications (table Notifications). */
export const counterKey = (tenant: string) => ({ pk: `quota#${tenant}`, sk: 'notifications' });

/** The counter of a tenant's notifications, as it is read at the quota. */
export const storedCounter = z.object({
  /** At least the tenant's notifications, but for those that were being created when the counter was corrected. */
  used: z.number(),
  /** A new one for each correction, so that a delayed duplicate of an earlier one does nothing. */
  correction: z.optional(z.string()),
  /** When a count that found the tenant at its limit began. A delete removes it, since it has made room. */
  counted_full_at_ms: z.optional(z.number()),
  /** A new one for each delete, so that a count during which something was deleted is not recorded. */
  last_delete: z.optional(z.string()),
});

/**
 * Records deletes of notifications, so that the tenant's next create at its quota counts its notifications again. A copy of
 * a record that arrives late failureCauses one more count. Never rejects, since the notification is deleted: a failure is logged, and
 * a create at the quota counts again within 60 seconds.
 */
export const createDeleteRecorder =
  (client: DynamoDBDocumentClient, table: string) =>
  async (tenant: string): Promise<void> => {
    const record = new UpdateCommand({
      TableName: table,
      Key: counterKey(tenant),
      UpdateExpression: 'SET last_delete = :delete REMOVE counted_full_at_ms',
      ExpressionAttributeValues: { ':delete': ulid() },
    });
    await client
      .send(record)
      .catch((error: unknown) =>
        logger.warn('notification quota: delete not recorded', { tenant_id: tenant, ...errorTrace(error) }),
      );
  };
