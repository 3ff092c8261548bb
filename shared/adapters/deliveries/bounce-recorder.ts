import type { FailureReason } from '../../contracts/outcomes.ts';
import type { Clock } from '../../domain/clock.ts';
import { type DeliveryKey, deliveryId, parseDeliveryPartition, recipientHash } from '../../domain/delivery-key.ts';
import type { DeliveryRecord } from '../../domain/delivery-record.ts';
import type { DeliveryRepository } from './delivery-repository.ts';

/**
 * The effect of a bounce on a delivery. `bounced`: every recipient that accepted has bounced. `remembered`: the
 * delivery is pending or failed, or has reached other recipients. `repeated`: SES has reported an email to this recipient before.
 * `no_record`: the email was a test.
 */
export type BounceResult =
  | {
      kind: 'bounced' | 'remembered' | 'repeated';
      record: DeliveryRecord;
      /** True if the delivery had reached the recipient: the alert may have reached nobody else. */
      wasReached: boolean;
    }
  | { kind: 'no_record' };

/**
 * Returns the hash that the delivery stores for this recipient when SES accepts the email. If SES does not name the
 * recipient, it is the only one of the delivery.
 */
const hashOf = (record: DeliveryRecord, address: string | undefined): string => {
  const { pk, event_id, reached_recipient_hashes = [] } = record;
  const [onlyRecipient, ...others] = reached_recipient_hashes;
  if (address === undefined && onlyRecipient !== undefined && others.length === 0) return onlyRecipient;
  const { tenant, notificationId } = parseDeliveryPartition(pk);
  return recipientHash(deliveryId({ tenant_id: tenant, event_id }, notificationId), address ?? '');
};

/**
 * Creates the function that records that an email bounced, whatever the status of its delivery: the sender may record
 * later that SES accepted the email. It is safe to repeat.
 */
export const createBounceRecorder =
  (deliveries: Pick<DeliveryRepository, 'read' | 'addBounce' | 'markBounced'>, clock: Clock) =>
  /** @param address the recipient of the email, of which only a hash is stored; undefined if SES does not name it */
  async (key: DeliveryKey, address: string | undefined, reason: FailureReason): Promise<BounceResult> => {
    const found = await deliveries.read(key);
    if (!found) return { kind: 'no_record' };
    const recipient = hashOf(found, address);
    const added = await deliveries.addBounce(key, recipient, reason);
    if (!added) return { kind: 'no_record' };
    const record = await deliveries.markBounced(added, clock());
    const wasReached = record.reached_recipient_hashes?.includes(recipient) === true;
    if (found.bounced_recipient_hashes?.has(recipient)) return { kind: 'repeated', record, wasReached };
    return { kind: record.status === 'bounced' ? 'bounced' : 'remembered', record, wasReached };
  };
