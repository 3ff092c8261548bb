import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, GetCommand, UpdateCommand, type UpdateCommandInput } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import type { FailureReason } from '../../contracts/outcomes.ts';
import type { Clock } from '../../domain/clock.ts';
import type { DeliveryKey } from '../../domain/delivery-key.ts';
import type { DeliveryRecord } from '../../domain/delivery-record.ts';
import type { Item } from '../dynamodb/batches.ts';
import { parseRecord } from './delivery-repository.ts';

/**
 * The effect of a bounce on a delivery record. `recorded`: the status is `bounced`. `partly_recorded`: other recipients
 * were reached. `repeated`: SES has reported this email before. `not_delivered`: the record is unchanged, because its
 * status is not delivered. `no_record`: the email was a test. `not_due`: the sender has not recorded the delivery yet,
 * so the bounce must be retried.
 */
export type BounceResult =
  | { kind: 'recorded' | 'partly_recorded' | 'repeated' | 'not_delivered'; record: DeliveryRecord }
  | { kind: 'no_record' | 'not_due' };

/** SES message IDs of the emails that bounced, one per recipient. */
const bouncedEmails = z.object({ bounced_message_ids: z._default(z.set(z.string()), new Set()) });

/**
 * Creates the function that records that an email bounced. The status becomes `bounced` once the emails to all
 * recipients of the delivery have bounced. It is safe to repeat. A pending record stays unchanged: its next attempt may
 * succeed, and its sender would overwrite the status.
 */
export const createBounceRecorder = (client: DynamoDBDocumentClient, table: string, clock: Clock) => {
  const read = async ({ pk, sk }: DeliveryKey): Promise<Item | undefined> => {
    const { Item } = await client.send(new GetCommand({ TableName: table, Key: { pk, sk }, ConsistentRead: true }));
    return Item;
  };

  /** @returns the item after the update, or undefined if the condition failed */
  const update = async (
    { pk, sk }: DeliveryKey,
    change: Pick<UpdateCommandInput, 'UpdateExpression' | 'ConditionExpression' | 'ExpressionAttributeValues'>,
  ): Promise<Item | undefined> => {
    try {
      const { Attributes } = await client.send(
        new UpdateCommand({
          TableName: table,
          Key: { pk, sk },
          ExpressionAttributeNames: { '#status': 'status' },
          ReturnValues: 'ALL_NEW',
          ...change,
        }),
      );
      return Attributes;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return undefined;
      throw error;
    }
  };

  /** Sets the status if every recipient's email has bounced. */
  const setStatus = async (key: DeliveryKey, item: Item, reason: FailureReason): Promise<BounceResult> => {
    const record = parseRecord(item);
    const { bounced_message_ids: ids } = bouncedEmails.parse(item);
    if (record.status !== 'delivered') return { kind: 'repeated', record };
    if (ids.size < record.reached_recipient_hashes.length) return { kind: 'partly_recorded', record };
    const bounced = await update(key, {
      UpdateExpression: 'SET #status = :bounced, last_reason = :reason, updated_at_ms = :now',
      ConditionExpression: '#status = :delivered',
      ExpressionAttributeValues: {
        ':bounced': 'bounced',
        ':delivered': 'delivered',
        ':reason': reason,
        ':now': clock(),
      },
    });
    return bounced ? { kind: 'recorded', record: parseRecord(bounced) } : { kind: 'repeated', record };
  };

  /** @param messageId the ID of the email, which SES assigned */
  return async (key: DeliveryKey, messageId: string, reason: FailureReason): Promise<BounceResult> => {
    const added = await update(key, {
      UpdateExpression: 'ADD bounced_message_ids :ids',
      ConditionExpression: '#status = :delivered AND NOT contains(bounced_message_ids, :id)',
      ExpressionAttributeValues: { ':delivered': 'delivered', ':ids': new Set([messageId]), ':id': messageId },
    });
    if (added) return setStatus(key, added, reason);
    const found = await read(key);
    if (!found) return { kind: 'no_record' };
    const record = parseRecord(found);
    const isRepeated = bouncedEmails.parse(found).bounced_message_ids.has(messageId);
    // An earlier event, or its lost response, may have added the email without setting the status.
    if (isRepeated) return setStatus(key, found, reason);
    // The sender still holds the claim, or recorded its result between the update and the read.
    const isNotDue = record.status === 'delivered' || (record.status === 'pending' && record.lease_until_ms > clock());
    return isNotDue ? { kind: 'not_due' } : { kind: 'not_delivered', record };
  };
};
