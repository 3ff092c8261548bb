import { type DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import {
  type DeliveryKey,
  failedMessagePartition,
  hashPart,
  parseDeliveryPartition,
  sortableTime,
} from '../../domain/delivery-key.ts';
import { zlib } from '../dynamodb/items.ts';

/*
 * The bodies of failed deliveries (table Deliveries, docs/decisions/deliveries.md#failed-messages): pk
 * `failed#<notification>#<tenant>`, sk <failure time>#<hash of the record's sort key>. A body has at most 273 KiB of an
 * item's 400 KB: an envelope and an event.
 */

/** The retention period of the bodies, the same as that of dead letters. */
export const FAILED_MESSAGE_RETENTION_SECONDS = 14 * 86_400;

export const failurePosition = (failedAtMs: number, recordKey: Pick<DeliveryKey, 'sk'>): string =>
  `${sortableTime(failedAtMs)}#${hashPart(recordKey)}`;

export const createFailedMessages = (client: DynamoDBDocumentClient, table: string) => ({
  /** Safe to apply twice. A copy that arrives after the delete is ignored: the record has another round. */
  async put({
    recordKey,
    failedAtMs,
    body,
    round,
  }: {
    recordKey: DeliveryKey;
    failedAtMs: number;
    body: string;
    round: number;
  }): Promise<void> {
    const Item = {
      pk: failedMessagePartition(parseDeliveryPartition(recordKey.pk)),
      sk: failurePosition(failedAtMs, recordKey),
      record_sk: recordKey.sk,
      round,
      body_bytes: Buffer.byteLength(body),
      content: zlib().gzipSync(body),
      ttl: Math.floor(failedAtMs / 1000) + FAILED_MESSAGE_RETENTION_SECONDS,
    };
    await client.send(new PutCommand({ TableName: table, Item }));
  },
});

export type FailedMessages = ReturnType<typeof createFailedMessages>;
