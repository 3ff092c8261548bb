import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { type DeliveryTarget, defaultNotification, type NotificationKey } from '../../domain/notification.ts';
import { DEFAULT_NOTIFICATION_ID, isStoredNotificationId } from '../../domain/notification-id.ts';
import { readEach } from '../dynamodb/batches.ts';
import { isTombstone, parseTarget, TARGET_PROJECTION, targetKey } from './notification-items.ts';
import { unreadable } from './unreadable-notification.ts';

/** Targets that are being read, each with a result of its own. */
export type TargetReads = {
  /**
   * Resolves as soon as this target has been read, to undefined only where it is known not to exist.
   *
   * @throws UnprocessedKeyError where DynamoDB left its key unprocessed twice; UnreadableNotificationError where this version
   * cannot read the item; the SDK's error where the read failed altogether
   */
  find(key: NotificationKey): Promise<DeliveryTarget | undefined>;
};

const keyText = ({ tenant, id }: NotificationKey): string => `${id} ${tenant}`;

/** Starts to read what delivering needs of many notifications, strongly consistent, each under its own tenant. */
export const readTargets = (
  client: DynamoDBDocumentClient,
  table: string,
  keys: readonly NotificationKey[],
): TargetReads => {
  const stored = keys.filter(({ id }) => isStoredNotificationId(id));
  const findItem = readEach(client, table, stored.map(targetKey), TARGET_PROJECTION);
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
