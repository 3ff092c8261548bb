import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import type { Clock } from '../../domain/clock.ts';
import type { DeliveryKey } from '../../domain/delivery-key.ts';

/**
 * The effect of a bounce on a delivery record. `not_delivered`: the record is unchanged, because its status is not
 * delivered. `no_record`: the email was a test. `not_due`: the sender has not recorded the delivery yet, so the bounce
 * must be retried.
 */
export type BounceResult = 'recorded' | 'already_bounced' | 'not_delivered' | 'no_record' | 'not_due';

const storedStatus = z.object({ status: z.string(), lease_until_ms: z.number() });

/**
 * Creates the function that sets the status of a delivered record to `bounced`. It is safe to repeat. A pending record
 * stays unchanged: its next attempt may succeed, and its sender would overwrite the status.
 */
export const createBounceRecorder = (client: DynamoDBDocumentClient, table: string, clock: Clock) => {
  const readStatus = async ({ pk, sk }: DeliveryKey) => {
    const { Item } = await client.send(new GetCommand({ TableName: table, Key: { pk, sk }, ConsistentRead: true }));
    return Item && storedStatus.parse(Item);
  };

  return async (key: DeliveryKey): Promise<BounceResult> => {
    try {
      await client.send(
        new UpdateCommand({
          TableName: table,
          Key: { pk: key.pk, sk: key.sk },
          UpdateExpression: 'SET #status = :bounced, updated_at_ms = :now',
          ConditionExpression: '#status = :delivered',
          ExpressionAttributeNames: { '#status': 'status' },
          ExpressionAttributeValues: { ':bounced': 'bounced', ':delivered': 'delivered', ':now': clock() },
        }),
      );
      return 'recorded';
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      const found = await readStatus(key);
      if (!found) return 'no_record';
      if (found.status === 'bounced') return 'already_bounced';
      // The sender still holds the claim, or recorded its result between the update and the read.
      const isNotDue = found.status === 'delivered' || (found.status === 'pending' && found.lease_until_ms > clock());
      return isNotDue ? 'not_due' : 'not_delivered';
    }
  };
};
