import { type DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { isNotificationTypeId, type NotificationTypeId } from '../../contracts/notification-types.ts';
import { signingSecrets } from '../../contracts/webhook-request.ts';
import { type DeliveryTarget, defaultNotification, type NotificationKey } from '../../domain/notification.ts';
import { DEFAULT_NOTIFICATION_ID, isStoredNotificationId } from '../../domain/notification-id.ts';
import { type Item, storedPeriod } from '../dynamodb/items.ts';
import { readEach } from '../dynamodb/read-each.ts';
import { errorTrace, logger } from '../logger.ts';
import { count } from '../metrics.ts';

export const targetPartition = (tenant: string): string => `notification#${tenant}`;

export const targetKey = ({ tenant, id }: NotificationKey) => ({ pk: targetPartition(tenant), sk: id });

/** The attributes that a delivery and lists of deliveries need. */
export const projectedTarget = z.object({
  sk: z.string(),
  type: z.custom<NotificationTypeId>(isNotificationTypeId),
  fields: z.record(z.string(), z.string()),
  webhook_request: z.optional(z.string()),
  ordered: z.optional(z.literal(true)),
  signing_secrets: z.optional(signingSecrets),
  label: z.string(),
  mutes: z.optional(z.array(storedPeriod)),
});

export const TARGET_PROJECTION = {
  ProjectionExpression: 'pk, sk, #type, #fields, webhook_request, ordered, signing_secrets, #label, mutes',
  ExpressionAttributeNames: { '#type': 'type', '#fields': 'fields', '#label': 'label' },
};

export const parseTarget = (item: unknown): DeliveryTarget => {
  const { sk: id, fields: details, ...target } = projectedTarget.parse(item);
  const { webhook_request: webhookRequest, signing_secrets: signingSecrets, ...rest } = target;
  return { id, details, webhookRequest, signingSecrets, ...rest };
};

/** The type of a notification is unknown to this version of the service, or its data is incomplete. */
export class UnreadableNotificationError extends Error {
  override readonly name = 'UnreadableNotificationError';

  constructor({ id }: NotificationKey, cause?: unknown) {
    super(`The notification ${id} cannot be read.`, { cause });
  }
}

/** Logs and counts an unreadable notification. @returns the error to throw */
export const unreadable = (key: NotificationKey, cause?: unknown): UnreadableNotificationError => {
  logger.error('unreadable notification', {
    tenant_id: key.tenant,
    notification_id: key.id,
    ...(cause !== undefined && errorTrace(cause)),
  });
  count({ unreadable_notifications: 1 });
  return new UnreadableNotificationError(key, cause);
};

/** Returns undefined for an unreadable notification, which is already logged and counted. Rethrows other errors. */
export const omitUnreadable = (error: unknown): undefined => {
  if (!(error instanceof UnreadableNotificationError)) throw error;
};

export type TargetReads = {
  /** Resolves as soon as this target is read. @throws UnreadableNotificationError, or like `readEach` */
  find(key: NotificationKey): Promise<DeliveryTarget | undefined>;
};

/** Targets of a tenant by ID, and the ID after which the next ones follow; null after the last ones. */
export type TargetPage = { targets: DeliveryTarget[]; next: string | null; readUnits: number };

const parse = (key: NotificationKey, item: Item): DeliveryTarget => {
  try {
    return parseTarget(item);
  } catch (error) {
    throw unreadable(key, error);
  }
};

/** Creates the reads of delivery targets (table Notifications), strongly consistent unless a caller opts out. */
export const createTargetReader = (client: DynamoDBDocumentClient, table: string) => ({
  /** Starts to read targets, also of several tenants: at half the price without `isConsistent`. */
  targets(keys: readonly NotificationKey[], { isConsistent = true } = {}): TargetReads {
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
        const text = `${key.id} ${key.tenant}`;
        const target = found.get(text) ?? read(key);
        found.set(text, target);
        return target;
      },
    };
  },

  /** One query, 1 MB at most (AWS limit), the default notification last. `from`: an ID or any text to start above. */
  async listTargets(
    tenant: string,
    { from, limit, isConsistent = true }: { from: string; limit: number; isConsistent?: boolean },
  ): Promise<TargetPage> {
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
