import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { EmailReport } from '../../contracts/delivery-record.ts';
import type { DeliveryKey } from '../../domain/delivery-key.ts';
import type { DeliveryRecord } from '../../domain/delivery-record.ts';
import { RETRY_REQUEST_INTERVAL_MS } from '../../domain/delivery-status.ts';
import { attributesUpdate, createConditionalUpdate } from '../dynamodb/conditional-writes.ts';
import { parseRecord, unchanged } from './stored-record.ts';

/** Creates the changes of delivery records that need no claim (table Deliveries): by tenants, and by SES. */
export const createDeliveryChanges = (client: DynamoDBDocumentClient, table: string) => {
  const update = createConditionalUpdate(client, table);
  return {
    /** Makes the next attempt due now, unless the delivery has changed or that was requested within the last hour. */
    async requestRetry(record: DeliveryRecord, nowMs: number): Promise<boolean> {
      const found = unchanged(record);
      const { isWritten, existing } = await update(record, {
        ...found,
        UpdateExpression:
          'SET scheduled_attempt_at_ms = next_attempt_at_ms, next_attempt_at_ms = :now, retry_requested_at_ms = :now',
        ConditionExpression: `${found.ConditionExpression} AND next_attempt_at_ms > :now AND (attribute_not_exists(retry_requested_at_ms) OR retry_requested_at_ms <= :before)`,
        ExpressionAttributeValues: {
          ...found.ExpressionAttributeValues,
          ':now': nowMs,
          ':before': nowMs - RETRY_REQUEST_INTERVAL_MS,
        },
      });
      // The SDK repeats a write whose first response was lost.
      return isWritten || existing?.retry_requested_at_ms === nowMs;
    },

    /**
     * Safe to apply twice. `bounced`: the hash of the address that the email did not reach. @returns the stored record
     */
    async recordEmailReport(
      key: DeliveryKey,
      report: EmailReport,
      atMs: number,
      bounced: string | undefined,
    ): Promise<DeliveryRecord | undefined> {
      const bounce = bounced !== undefined && {
        ':reason': report === 'reject' ? 'rejected' : 'bounced',
        ':recipients': new Set([bounced]),
      };
      const reported = 'SET email_report = :report, email_reported_at_ms = :at';
      const { item } = await update(key, {
        UpdateExpression: bounce
          ? `${reported}, bounce_reason = :reason ADD bounced_recipient_hashes :recipients`
          : reported,
        ConditionExpression: 'attribute_exists(pk)',
        ExpressionAttributeValues: { ':report': report, ':at': atMs, ...bounce },
      });
      return item && parseRecord(item);
    },

    /** Unless a later time is recorded: events of SES come in any order. @returns false if nothing was changed */
    async recordEmailTime(
      key: DeliveryKey,
      name: 'confirmed_at_ms' | 'delayed_at_ms',
      timeMs: number,
    ): Promise<boolean> {
      const isLater = `(attribute_not_exists(${name}) OR ${name} < :new_${name})`;
      const condition = { ConditionExpression: `attribute_exists(pk) AND ${isLater}` };
      return (await update(key, attributesUpdate({ [name]: timeMs }, condition))).isWritten;
    },
  };
};

export type DeliveryChanges = ReturnType<typeof createDeliveryChanges>;
