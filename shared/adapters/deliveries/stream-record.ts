import { unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod/mini';
import type { DeliveryRecord } from '../../contracts/delivery-record.ts';
import type { DeliveryKey } from '../../domain/delivery-key.ts';
import { parseRecord } from './stored-record.ts';

const image = z.custom<Parameters<typeof unmarshall>[0]>((value) => typeof value === 'object' && value !== null);

const keys = z.object({ pk: z.object({ S: z.string() }), sk: z.object({ S: z.string() }) });

const streamRecord = z.object({
  eventName: z.enum(['INSERT', 'MODIFY', 'REMOVE']),
  dynamodb: z.object({
    Keys: keys,
    OldImage: z.optional(image),
    NewImage: z.optional(image),
  }),
});

export type RecordChange = { before: DeliveryRecord; after: DeliveryRecord };

/** Conflicts and incident locks have the partition keys of records. Sort keys of records start with digits. */
const isDelivery = (pk: string, sk: string): boolean => pk.startsWith('delivery#') && /^\d/.test(sk);

export const deliveryKeyOf = (record: { dynamodb?: { Keys?: unknown } | undefined }): DeliveryKey | undefined => {
  const { data } = keys.safeParse(record.dynamodb?.Keys);
  return data && isDelivery(data.pk.S, data.sk.S) ? { pk: data.pk.S, sk: data.sk.S } : undefined;
};

/** Returns undefined for another item, a new record and a deletion. @throws Error if it is invalid */
export const parseStreamRecord = (record: unknown): RecordChange | undefined => {
  const { eventName, dynamodb } = streamRecord.parse(record);
  const { Keys, OldImage, NewImage } = dynamodb;
  if (eventName !== 'MODIFY' || !isDelivery(Keys.pk.S, Keys.sk.S)) return undefined;
  if (!OldImage || !NewImage) throw new Error('The stream record has no images.');
  return { before: parseRecord(unmarshall(OldImage)), after: parseRecord(unmarshall(NewImage)) };
};
