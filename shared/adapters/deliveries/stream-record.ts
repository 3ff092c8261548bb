import { unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod/mini';
import type { DeliveryRecord } from '../../contracts/delivery-record.ts';
import { parseRecord } from './stored-record.ts';

const image = z.custom<Parameters<typeof unmarshall>[0]>((value) => typeof value === 'object' && value !== null);

/** A record of the stream of the Deliveries table, as far as it is read. */
const streamRecord = z.object({
  eventName: z.enum(['INSERT', 'MODIFY', 'REMOVE']),
  dynamodb: z.object({
    Keys: z.object({ pk: z.object({ S: z.string() }), sk: z.object({ S: z.string() }) }),
    OldImage: z.optional(image),
    NewImage: z.optional(image),
  }),
});

/** A write of a delivery record: the record before and after it. */
export type RecordChange = { before: DeliveryRecord; after: DeliveryRecord };

/** Conflicts and incident locks have the partition keys of records. Sort keys of records start with digits. */
const isDelivery = (pk: string, sk: string): boolean => pk.startsWith('delivery#') && /^\d/.test(sk);

/**
 * Parses a record of the stream of the Deliveries table.
 *
 * @returns the change of a delivery record, or undefined for another item, a new record and a deletion
 * @throws Error if it is invalid
 */
export const parseStreamRecord = (record: unknown): RecordChange | undefined => {
  const { eventName, dynamodb } = streamRecord.parse(record);
  const { Keys, OldImage, NewImage } = dynamodb;
  if (eventName !== 'MODIFY' || !isDelivery(Keys.pk.S, Keys.sk.S)) return undefined;
  if (!OldImage || !NewImage) throw new Error('The stream record has no images.');
  return { before: parseRecord(unmarshall(OldImage)), after: parseRecord(unmarshall(NewImage)) };
};
