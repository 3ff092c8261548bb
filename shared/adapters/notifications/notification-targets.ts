import { type DeliveryTarget, defaultNotification, type NotificationKey } from '../../domain/notification.ts';
import { DEFAULT_NOTIFICATION_ID, isStoredNotificationId } from '../../domain/notification-id.ts';
import { readEach } from '../dynamodb/batches.ts';
import type { DynamoDb } from '../dynamodb/dynamodb-client.ts';
import { isTombstone, parseTarget, TARGET_PROJECTION, targetKey } from './notification-items.ts';
import { unreadable } from './unreadable-notification.ts';

/** Pending reads of delivery targets. */
export type TargetReads = {
  /**
   * Resolves as soon as this target has been read, to undefined if it does not exist.
   *
   * @throws UnprocessedKeyError if DynamoDB left its key unprocessed twice
   * @throws UnreadableNotificationError if this version of the service cannot read the item
   * @throws the SDK's error if the request failed
   */
  find(key: NotificationKey): Promise<DeliveryTarget | undefined>;
};

const keyText = ({ tenant, id }: NotificationKey): string => `${id} ${tenant}`;

/** Starts to read the delivery targets of notifications, which may be of several tenants. Strongly consistent. */
export const readTargets = (client: DynamoDb, table: string, keys: readonly NotificationKey[]): TargetReads => {
  const storedKeys = keys.filter(({ id }) => isStoredNotificationId(id));
  const findItem = readEach(client, table, storedKeys.map(targetKey), TARGET_PROJECTION);
  const found = new Map<string, Promise<DeliveryTarget | undefined>>();

  const read = async (key: NotificationKey): Promise<DeliveryTarget | undefined> => {
    const item = await findItem(targetKey(key));
    if (!item || isTombstone(item)) return undefined;
    try {
      return parseTarget(item);
    } catch (error) {
      throw unreadable(key, error);
    }
  };

  return {
    async find(key) {
      if (key.id === DEFAULT_NOTIFICATION_ID) return defaultNotification;
      if (!isStoredNotificationId(key.id)) return undefined;
      const text = keyText(key);
      const target = found.get(text) ?? read(key);
      found.set(text, target);
      return target;
    },
  };
};
