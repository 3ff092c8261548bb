import { type DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { ulid } from 'ulid';
import * as z from 'zod/mini';
import { errorTrace, logger } from '../logger.ts';

/** Returns the primary key of a tenant's notification counter (table Notifications). */
export const counterKey = (tenant: string) => ({ pk: `quota#${tenant}`, sk: 'notifications' });

/** A tenant's notification counter. See `notification-quota.ts`. */
export const storedCounter = z.object({
  /** An upper bound of the tenant's notifications, apart from creates in progress during a correction. */
  used: z.number(),
  /** Unique per correction, so that a delayed duplicate of an earlier correction fails its condition. */
  correction_id: z.optional(z.string()),
  /** Start of the last count that found the tenant at its limit, ms since the epoch. A delete removes it. */
  counted_full_at_ms: z.optional(z.number()),
  /** Unique per delete, so that a count that overlaps a delete is not recorded. */
  last_delete_id: z.optional(z.string()),
});

/**
 * Creates a function that records the delete of a notification, so that the tenant's next create at its quota counts
 * the notifications again. A late copy of the write only causes another count. The function never rejects, since the
 * notification is already deleted: it logs the failure, and creates at the quota count again after 60 s.
 */
export const createDeleteRecorder =
  (client: DynamoDBDocumentClient, table: string) =>
  async (tenant: string): Promise<void> => {
    const update = client.send(
      new UpdateCommand({
        TableName: table,
        Key: counterKey(tenant),
        UpdateExpression: 'SET last_delete_id = :delete_id REMOVE counted_full_at_ms',
        ExpressionAttributeValues: { ':delete_id': ulid() },
      }),
    );
    await update.catch((error: unknown) =>
      logger.warn('notification quota: delete not recorded', { tenant_id: tenant, ...errorTrace(error) }),
    );
  };
