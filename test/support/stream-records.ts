import { marshall } from '@aws-sdk/util-dynamodb';
import type { AttributeValue, DynamoDBRecord } from 'aws-lambda';
import * as z from 'zod';
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
