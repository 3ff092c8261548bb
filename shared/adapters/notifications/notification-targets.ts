import { type DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { type DeliveryTarget, defaultNotification, type NotificationKey } from '../../domain/notification.ts';
import { DEFAULT_NOTIFICATION_ID, isStoredNotificationId } from '../../domain/notification-id.ts';
import { readEach } from '../dynamodb/batches.ts';
import type { Item } from '../dynamodb/items.ts';
import { parseTarget, TARGET_PROJECTION, targetKey, targetPartition, unreadable } from './notification-items.ts';

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

/** Targets of a tenant by ID, and the ID after which the next ones follow; null after the last ones. */
export type TargetPage = {
  targets: DeliveryTarget[];
  next: string | null;
  /** The read units that it cost. */
  readUnits: number;
};

const keyText = ({ tenant, id }: NotificationKey): string => `${id} ${tenant}`;

/** @throws UnreadableNotificationError */
const parse = (key: NotificationKey, item: Item): DeliveryTarget => {
  try {
    return parseTarget(item);
  } catch (error) {
    throw unreadable(key, error);
  }
};

const readTargets = (
  client: DynamoDBDocumentClient,
  table: string,
  keys: readonly NotificationKey[],
  isConsistent: boolean,
): TargetReads => {
  const storedKeys = keys.filter(({ id }) => isStoredNotificationId(id));
  const findItem = readEach(client, table, storedKeys.map(targetKey), TARGET_PROJECTION, isConsistent);
  const found = new Map<string, Promise<DeliveryTarget | undefined>>();

  const read = async (key: NotificationKey): Promise<DeliveryTarget | undefined> => {
    const item = await findItem(targetKey(key));
    return item && parse(key, item);
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

/** Creates the reads of delivery targets (table Notifications), strongly consistent unless a caller opts out. */
export const createTargetReader = (client: DynamoDBDocumentClient, table: string) => ({
  /**
   * Starts to read the delivery targets of notifications, which may be of several tenants.
   *
   * @param options.isConsistent false if a target may be an earlier version, or one that was just deleted, at half the
   * price. A target that exists is found in either case
   */
  targets: (keys: readonly NotificationKey[], { isConsistent = true } = {}): TargetReads =>
    readTargets(client, table, keys, isConsistent),

  /**
   * Returns up to `limit` targets of a tenant, the default notification last, without unreadable ones, with one query:
   * 1 MB at most (AWS limit).
   *
   * @param from the ID to start with, or any text to start above
   * @param options.isConsistent false if a notification that was just created may be missing, and one that was just
   * deleted not be, at half the price
   */
  async listTargets(tenant: string, from: string, limit: number, { isConsistent = true } = {}): Promise<TargetPage> {
    const {
      Items = [],
      LastEvaluatedKey,
      ConsumedCapacity,
    } = await client.send(
      new QueryCommand({
        TableName: table,
        KeyConditionExpression: 'pk = :pk AND sk >= :from',
        ExpressionAttributeValues: { ':pk': targetPartition(tenant), ':from': from },
        ConsistentRead: isConsistent,
        ReturnConsumedCapacity: 'TOTAL',
        Limit: limit,
        ...TARGET_PROJECTION,
      }),
    );
    const targets = Items.flatMap((item): DeliveryTarget[] => {
      try {
        return [parse({ tenant, id: String(item.sk) }, item)];
      } catch {
        return [];
      }
    });
    const readUnits = ConsumedCapacity?.CapacityUnits ?? 0;
    const last = Items.at(-1);
    if (last && (LastEvaluatedKey || Items.length === limit)) return { targets, next: String(last.sk), readUnits };
    const all = DEFAULT_NOTIFICATION_ID >= from ? [...targets, defaultNotification] : targets;
    return { targets: all, next: null, readUnits };
  },
});
