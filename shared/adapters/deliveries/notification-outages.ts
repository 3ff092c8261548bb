import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { type Outage, outage as storedOutage } from '../../contracts/notice.ts';
import { outagePartition } from '../../domain/delivery-key.ts';
import { RETENTION_SECONDS } from '../../domain/delivery-record.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import { attributesUpdate, createConditionalUpdate } from '../dynamodb/conditional-writes.ts';
import { getItem } from '../dynamodb/items.ts';

/*
 * The last outage of a notification (table Deliveries, docs/decisions/notices.md#outages): pk
 * `outage#<notification>#<tenant>`, sk `outage`.
 */

/** How often a change is repeated that others precede: more than there are concurrent reporters. */
const MAX_TRIES = 20;

/** Outages. Each write is conditional on the version that it changes, so applying it twice has no effect. */
export const createOutages = (client: DynamoDBDocumentClient, table: string) => {
  const update = createConditionalUpdate(client, table);
  const keyOf = (notification: NotificationKey) => ({ pk: outagePartition(notification), sk: 'outage' });

  const read = async (notification: NotificationKey): Promise<Outage | undefined> => {
    const item = await getItem(client, table, keyOf(notification));
    return item && storedOutage.parse(item);
  };

  return {
    read,

    /** `change` returns the same value to change nothing, and is called again if others precede. */
    async change(
      notification: NotificationKey,
      nowMs: number,
      change: (outage: Outage | undefined) => Outage | undefined | Promise<Outage | undefined>,
    ): Promise<Outage | undefined> {
      let current = await read(notification);
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const changed = await change(current);
        if (changed === undefined || changed === current) return changed;
        const written = { ...changed, version: changed.version + 1 };
        const attributes = { ...written, ttl: Math.floor(nowMs / 1000) + RETENTION_SECONDS };
        const isUnchanged = current
          ? { ConditionExpression: 'version = :version', ExpressionAttributeValues: { ':version': current.version } }
          : { ConditionExpression: 'attribute_not_exists(pk)' };
        const { isWritten, existing } = await update(keyOf(notification), attributesUpdate(attributes, isUnchanged));
        if (isWritten) return written;
        current = existing && storedOutage.parse(existing);
      }
      throw new Error('The outage of a notification changes too often.');
    },
  };
};

export type Outages = ReturnType<typeof createOutages>;
