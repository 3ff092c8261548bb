import { type DeliveryRecord, deliveryBounces, deliveryRecord } from '../../contracts/delivery-record.ts';
import type { Item } from '../dynamodb/items.ts';

/** Sort key prefix of conflicts. Records start with digits, locks with `incident#`. */
export const CONFLICT_PREFIX = 'conflict#';

/** Parses the item of a delivery record. @throws ZodError if the item is invalid */
export const parseRecord = (item: Item): DeliveryRecord => deliveryRecord.parse(item);

/** Parses only the bounces in the item of a delivery record. @throws ZodError if they are invalid */
export const parseBounces = (item: Item): Pick<DeliveryRecord, 'bounced_recipient_hashes' | 'bounce_reason'> =>
  deliveryBounces.parse(item);
