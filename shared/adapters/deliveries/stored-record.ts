import { type DeliveryRecord, deliveryRecord, emailReports } from '../../contracts/delivery-record.ts';
import type { Item } from '../dynamodb/items.ts';

/** Sort key prefix of conflicts. Records start with digits, locks with `incident#`. */
export const CONFLICT_PREFIX = 'conflict#';

export const parseRecord = (item: Item): DeliveryRecord => deliveryRecord.parse(item);

export const parseEmailReports = (item: Item) => emailReports.parse(item);

/** Returns the attributes that are not reported by SES. */
export const withoutEmailReports = (attributes: Item): Item =>
  Object.fromEntries(Object.entries(attributes).filter(([name]) => !(name in emailReports.shape)));

/** That a claim still holds: each has its own `claim_id`, and its end changes `lease_until_ms`. */
export const heldBy = ({ claim_id, lease_until_ms }: { claim_id: string; lease_until_ms: number }) => ({
  ConditionExpression: 'claim_id = :claim_id AND lease_until_ms = :lease_until_ms',
  ExpressionAttributeValues: { ':claim_id': claim_id, ':lease_until_ms': lease_until_ms },
});

export const unchanged = (record: DeliveryRecord) => {
  const { ConditionExpression, ExpressionAttributeValues } = heldBy(record);
  return {
    ConditionExpression: `${ConditionExpression} AND #status = :status`,
    ExpressionAttributeNames: { '#status': 'status' },
    ExpressionAttributeValues: { ...ExpressionAttributeValues, ':status': record.status },
  };
};
