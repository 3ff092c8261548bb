import { marshall } from '@aws-sdk/util-dynamodb';
import type { AttributeValue, DynamoDBRecord } from 'aws-lambda';
import * as z from 'zod';
import { deliveryKey } from '../../shared/domain/delivery-key.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';

const image = z.record(z.string(), z.custom<AttributeValue>());

const imageOf = (record: object) => image.parse(marshall(record, { removeUndefinedValues: true }));

/** Returns the stream record of a write, as Lambda passes it to functions. */
export const streamRecord = (
  before: DeliveryRecord,
  after: DeliveryRecord,
  sequenceNumber = '1',
  createdAtSeconds = 0,
): DynamoDBRecord => ({
  eventID: `id-${sequenceNumber}`,
  eventName: 'MODIFY',
  eventSource: 'aws:dynamodb',
  dynamodb: {
    ApproximateCreationDateTime: createdAtSeconds,
    Keys: imageOf({ pk: after.pk, sk: after.sk }),
    OldImage: imageOf(before),
    NewImage: imageOf(after),
    SequenceNumber: sequenceNumber,
    StreamViewType: 'NEW_AND_OLD_IMAGES',
  },
});

/** Returns the message that the watcher of the stream sends about an event whose delivery failed. */
export const reportBody = (event: Parameters<typeof deliveryKey>[0], notificationId: string): string =>
  JSON.stringify({
    kind: 'event',
    tenant_id: event.tenant_id,
    sk: deliveryKey(event, notificationId).sk,
    deliveries: [{ notification_id: notificationId, happened: 'failed' }],
    outcomes: [],
  });
