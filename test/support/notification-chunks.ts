import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { readNotificationCount } from '../../shared/adapters/notifications/notification-counter.ts';
import { createNotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import type { NotificationAttributes } from '../../shared/contracts/notification.ts';
import { audit } from './audit.ts';
import type { useDatabase } from './dynamodb.ts';
import { incompressibleEntries, validDetails, webhookNotification } from './notifications.ts';

type Key = { tenant: string; id: string };

export const HOUR_MS = 3_600_000;

/** A notification that fits into its target. */
export const small = (letter: string) => webhookNotification({ label: letter });

/** A notification with one chunk. */
export const large = (letter: string) =>
  webhookNotification({ label: letter, details: { ...validDetails.webhook, ...incompressibleEntries(105, letter) } });

/** Creates helpers that write notifications at a controlled time and read the stored chunks and cleanup items. */
export const createChunkFixtures = ({ client }: Pick<Awaited<ReturnType<typeof useDatabase>>, 'client'>) => {
  let now = Date.UTC(2026, 10, 21);
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

  const chunksOf = async (tenant: string) => (await stored(`chunk#${tenant}`)).map(({ sk }) => String(sk));
  const cleanupItemsOf = (tenant: string) => stored(`cleanup#${tenant}`);

  /** Returns the chunks that no target points to. */
  const orphansOf = async (tenant: string): Promise<string[]> => {
    const targets = await stored(`notification#${tenant}`);
    const usedVersions = new Set(targets.map(({ sk, version }) => `${sk}#${version}`));
    return (await chunksOf(tenant)).filter((chunk) => !usedVersions.has(chunk.split('#').slice(0, 2).join('#')));
  };

  /** Returns the number of the tenant's notifications, counted and as its counter has it. */
  const counts = async (tenant: string) => ({
    stored: (await stored(`notification#${tenant}`)).length,
    counter: await readNotificationCount(client, 'notifications', tenant),
  });

  const create = async (tenant: string, attributes: NotificationAttributes): Promise<Key> => ({
    tenant,
    id: await notifications.create(tenant, attributes, audit),
  });

  /** Replaces a notification. @returns false if it does not exist or has changed */
  const replace = async (key: Key, attributes: NotificationAttributes, repository = notifications) => {
    const found = await notifications.get(key);
    return found !== undefined && repository.replace(key, found.stored, attributes, audit);
  };

  const advance = (ms: number): void => {
    now += ms;
  };

  /** Writes for the tenant after `afterMs` until no cleanup items are left. Each write cleans up a limited number. */
  const writeLater = async (tenant: string, afterMs: number): Promise<void> => {
    advance(afterMs);
    for (let write = 0; write < 20 && (await cleanupItemsOf(tenant)).length > 0; write++)
      await create(tenant, large('later'));
  };

  return {
    newTenant: () => `chunks${tenants++}`,
    now: () => now,
    advance,
    repositoryOn,
    notifications,
    stored,
    chunksOf,
    cleanupItemsOf,
    orphansOf,
    counts,
    create,
    replace,
    writeLater,
  };
};
