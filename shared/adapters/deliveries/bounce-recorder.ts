import * as z from 'zod/mini';
import type { FailureReason } from '../../contracts/outcomes.ts';
import type { Clock } from '../../domain/clock.ts';
import { type DeliveryKey, deliveryId, parseDeliveryPartition, recipientHash } from '../../domain/delivery-key.ts';
import type { DeliveryRecord } from '../../domain/delivery-record.ts';
import { getItem, type Item, type UpdateInput, updateItem } from '../dynamodb/documents.ts';
import type { DynamoDb } from '../dynamodb/dynamodb-client.ts';
import { unlessConditionFailed } from '../dynamodb/errors.ts';
import { parseRecord } from './stored-record.ts';

/**
 * The effect of a bounce on a delivery record. `recorded`: the status is `bounced`. `partly_recorded`: other recipients
 * were reached. `repeated`: SES has reported an email to this recipient before. `not_delivered`: the record is
 * unchanged, because its status is not `delivered`. `no_record`: the email was a test. `not_due`: the sender has not
 * recorded the delivery yet, or the status changed after it was read, so the event must be retried.
 */
export type BounceResult =
  | { kind: 'recorded' | 'partly_recorded' | 'repeated' | 'not_delivered'; record: DeliveryRecord }
  | { kind: 'no_record' | 'not_due' };

/** The recipients whose email bounced, as salted hashes (`recipientHash`). */
const bouncedRecipients = z.object({ bounced_recipient_hashes: z._default(z.set(z.string()), new Set()) });

/**
 * Creates the function that records that an email bounced. The status becomes `bounced` once the emails to all
 * recipients of the delivery have bounced. It is safe to repeat. A pending record stays unchanged: its next attempt may
 * succeed, and its sender would overwrite the status.
 */
export const createBounceRecorder = (client: DynamoDb, table: string, clock: Clock) => {
  const read = async ({ pk, sk }: DeliveryKey): Promise<Item | undefined> => {
    const { Item } = await getItem(client, { TableName: table, Key: { pk, sk }, ConsistentRead: true });
    return Item;
  };

  /** @returns the item after the update, or undefined if the condition failed */
  const update = async (
    { pk, sk }: DeliveryKey,
    change: Pick<UpdateInput, 'UpdateExpression' | 'ConditionExpression' | 'ExpressionAttributeValues'>,
  ): Promise<Item | undefined> => {
    const request = updateItem(client, {
      TableName: table,
      Key: { pk, sk },
      ExpressionAttributeNames: { '#status': 'status' },
      ReturnValues: 'ALL_NEW',
      ...change,
    });
    return (await unlessConditionFailed(request))?.Attributes;
  };

  /**
   * Sets the status if every recipient's email has bounced. The condition also fails if the SDK repeats an applied
   * write; the next read then finds the new status, on which the notices depend.
   */
  const setStatus = async (key: DeliveryKey, item: Item, reason: FailureReason): Promise<BounceResult> => {
    const record = parseRecord(item);
    const { bounced_recipient_hashes: bouncedHashes } = bouncedRecipients.parse(item);
    if (record.status !== 'delivered') return { kind: 'repeated', record };
    if (!record.reached_recipient_hashes.every((hash) => bouncedHashes.has(hash))) {
      return { kind: 'partly_recorded', record };
    }
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
    return bounced ? { kind: 'recorded', record: parseRecord(bounced) } : { kind: 'not_due' };
  };

  /** Returns the hash that the delivery stored for this recipient when the email reached it. */
  const hashOf = (record: DeliveryRecord, address: string): string => {
    const { tenant, notificationId } = parseDeliveryPartition(record.pk);
    return recipientHash(deliveryId({ tenant_id: tenant, event_id: record.event_id }, notificationId), address);
  };

  /** @param address the recipient of the email, of which only a hash is stored */
  return async (key: DeliveryKey, address: string, reason: FailureReason): Promise<BounceResult> => {
    const found = await read(key);
    if (!found) return { kind: 'no_record' };
    const record = parseRecord(found);
    const recipient = hashOf(record, address);
    // An earlier event, or its lost response, may have added the recipient without setting the status.
    if (bouncedRecipients.parse(found).bounced_recipient_hashes.has(recipient)) return setStatus(key, found, reason);
    if (record.status === 'pending' && record.lease_until_ms > clock()) return { kind: 'not_due' };
    if (record.status !== 'delivered') return { kind: 'not_delivered', record };
    const added = await update(key, {
      UpdateExpression: 'ADD bounced_recipient_hashes :hashes',
      ConditionExpression: '#status = :delivered',
      ExpressionAttributeValues: { ':delivered': 'delivered', ':hashes': new Set([recipient]) },
    });
    return added ? setStatus(key, added, reason) : { kind: 'not_due' };
  };
};
