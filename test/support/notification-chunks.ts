import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { readNotificationCount } from '../../shared/adapters/notifications/notification-counter.ts';
import { createNotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import type { NotificationAttributes } from '../../shared/contracts/notification.ts';
import { audit } from './audit.ts';
import type { useDatabase } from './dynamodb.ts';
import { incompressibleEntries, validDetails, webhookNotification } from './notifications.ts';

type Key = { tenant: string; id: string };

/** A notification that fits into its target. */
export const small = (letter: string) => webhookNotification({ label: letter });

/** A notification with one chunk. */
export const large = (letter: string) =>
  webhookNotification({ label: letter, details: { ...validDetails.webhook, ...incompressibleEntries(105, letter) } });

/** Creates helpers that write notifications at a controlled time and read the stored chunks. */
export const createChunkFixtures = ({ client }: Pick<Awaited<ReturnType<typeof useDatabase>>, 'client'>) => {
  const now = Date.UTC(2026, 10, 21);
  let tenants = 0;
  const repositoryOn = (database: typeof client) => createNotificationRepository(database, 'notifications', () => now);
  const notifications = repositoryOn(client);

  /** Returns the items of a partition. */
  const stored = async (partition: string): Promise<Record<string, unknown>[]> => {
    const { Items = [] } = await client.send(
      new QueryCommand({
        TableName: 'notifications',
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': partition },
        ConsistentRead: true,
      }),
    );
    return Items;
  };

  /** Returns the number of the tenant's notifications, counted and as its counter has it. */
  const counts = async (tenant: string) => ({
    stored: (await stored(`notification#${tenant}`)).length,
    counter: await readNotificationCount(client, 'notifications', tenant),
  });

  const create = async (tenant: string, attributes: NotificationAttributes): Promise<Key> => ({
    tenant,
    id: await notifications.create({ tenant, attributes, audit }),
  });

  /** Replaces a notification. @returns false if it does not exist or has changed */
  const replace = async (key: Key, attributes: NotificationAttributes, repository = notifications) => {
    const found = await notifications.get(key);
    return found !== undefined && repository.replace({ key, old: found.stored, attributes, entry: audit });
  };

  return {
    newTenant: () => `chunks${tenants++}`,
    repositoryOn,
    notifications,
    stored,
    counts,
    create,
    replace,
  };
};
