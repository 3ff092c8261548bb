import { describe, expect, it, vi } from 'vitest';
import { logger } from '../../../shared/adapters/logger.ts';
import { chunkPartition } from '../../../shared/adapters/notifications/notification-items.ts';
import {
  createNotificationRepository,
  type NotificationKey,
} from '../../../shared/adapters/notifications/notification-repository.ts';
import { audit } from '../../support/audit.ts';
import { itemsOf, useDatabase } from '../../support/dynamodb.ts';
import { withInterruption, withThrottling } from '../../support/dynamodb-faults.ts';
import {
  entries,
  incompressibleEntries,
  largestNotification,
  validDetails,
  webhookNotification,
} from '../../support/notifications.ts';

const { client, connect, newTenant } = useDatabase();
const notifications = createNotificationRepository(client, 'notifications');

/** A notification with other details. */
const withEntries = (others: Record<string, string>) =>
  webhookNotification({ details: { ...validDetails.webhook, ...others } });

/** A notification of `count` entries of 4 KB that compress badly. Values start and end with one letter. */
const large = (letter: string, count = 130) => withEntries(incompressibleEntries(count, letter));

const lettersOf = (details: Readonly<Record<string, string>> = {}): string[] => [
  ...new Set(
    Object.entries(details).flatMap(([key, value]) => (key === 'url' ? [] : [value.slice(0, 1), value.slice(-1)])),
  ),
];

const noVersion = { version: '', chunks: 0 };

const chunksOf = (tenant: string) => itemsOf(client, 'notifications', chunkPartition(tenant));

const created = async (letter: string, count?: number) => {
  const tenant = newTenant();
  const key: NotificationKey = {
    tenant,
    id: await notifications.create({ tenant, attributes: large(letter, count), audit }),
  };
  const { stored = noVersion } = (await notifications.get(key)) ?? {};
  return { key, tenant, stored };
};

const repositoryWith = (fault: (database: typeof client) => typeof client, options = {}) =>
  createNotificationRepository(fault(connect(options)), 'notifications');

describe('a large notification', () => {
  it.each([
    ['just under a small target', withEntries(entries(1, 'x'.repeat(4_096))), 0],
    ['just over a small target', withEntries(entries(2, 'x'.repeat(4_096))), 0],
    ['4.2 MB that compress well', withEntries(entries(255, '😀'.repeat(4_096))), 0],
    ['just under 300 KB compressed', large('x', 98), 0],
    ['just over 300 KB compressed', large('x', 101), 1],
    ['just over one chunk', large('x', 118), 2],
    ['4.2 MB that compress badly', largestNotification(), 9],
  ])('can be read, listed and deleted: %s', async (_, attributes, chunks) => {
    const tenant = newTenant();
    const id = await notifications.create({ tenant, attributes, audit });
    expect(await notifications.get({ tenant, id })).toMatchObject({
      record: { id, ...attributes },
      stored: { chunks },
    });
    expect((await Array.fromAsync(notifications.list(tenant, null, 10)))[0]).toEqual({ id, ...attributes });
    expect(await Array.fromAsync(notifications.listByIds(tenant, [id], null))).toEqual([{ id, ...attributes }]);
    expect(await notifications.delete({ tenant, id }, audit)).toBe(true);
    expect(await chunksOf(tenant)).toEqual([]);
  });

  it('leaves no chunks of the old version when it is replaced', async () => {
    const { key, tenant, stored } = await created('a', 255);
    await notifications.replace({ key, old: stored, attributes: large('b'), entry: audit });
    const { stored: next = noVersion } = (await notifications.get(key)) ?? {};
    const chunks = await chunksOf(tenant);
    expect(chunks).toHaveLength(2);
    for (const { sk } of chunks) expect(sk).toContain(next.version);
    await notifications.replace({ key, old: next, attributes: webhookNotification(), entry: audit });
    expect(await chunksOf(tenant)).toEqual([]);
    expect((await notifications.get(key))?.record).toEqual({ id: key.id, ...webhookNotification() });
  });

  it('leaves no chunks of an update that conflicts with another one', async () => {
    const { key, tenant, stored } = await created('a');
    await notifications.replace({ key, old: stored, attributes: webhookNotification(), entry: audit });
    expect(await notifications.replace({ key, old: stored, attributes: large('c'), entry: audit })).toBe(false);
    expect(await chunksOf(tenant)).toEqual([]);
  });

  it('is replaced or deleted even if its old chunks cannot be deleted', async () => {
    const logWarning = vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
    const { key, stored } = await created('a');
    const broken = repositoryWith((database) => withThrottling(database, 'BatchWriteItemCommand'), { maxAttempts: 1 });
    expect(await broken.replace({ key, old: stored, attributes: webhookNotification(), entry: audit })).toBe(true);
    const { key: other } = await created('a');
    expect(await broken.delete(other, audit)).toBe(true);
    expect(logWarning).toHaveBeenCalledTimes(2);
  });
});

describe('a read during a write', () => {
  it('returns the new version if the old one is replaced between the reads of target and chunks', async () => {
    const { key, stored } = await created('a');
    const replace = () => notifications.replace({ key, old: stored, attributes: large('b'), entry: audit });
    const reader = repositoryWith((database) => withInterruption(database, 'BatchGetItemCommand', replace));
    expect(lettersOf((await reader.get(key))?.record.details)).toEqual(['b']);
  });

  it('returns nothing if the notification is deleted, alone or in a list', async () => {
    const first = await created('a');
    const reader = repositoryWith((database) =>
      withInterruption(database, 'BatchGetItemCommand', () => notifications.delete(first.key, audit)),
    );
    expect(await reader.get(first.key)).toBeUndefined();
    const { key, tenant } = await created('a');
    const lister = repositoryWith((database) =>
      withInterruption(database, 'BatchGetItemCommand', () => notifications.delete(key, audit)),
    );
    expect((await Array.fromAsync(lister.list(tenant, null, 10))).map(({ id }) => id)).not.toContain(key.id);
  });

  it('fails with 503 if the notification is replaced during each attempt', async () => {
    const { key } = await created('a');
    const replace = async () => {
      const { stored = noVersion } = (await notifications.get(key)) ?? {};
      await notifications.replace({ key, old: stored, attributes: large('b'), entry: audit });
    };
    const reader = repositoryWith((database) => withInterruption(database, 'BatchGetItemCommand', replace, () => true));
    await expect(reader.get(key)).rejects.toMatchObject({ type: 'serviceUnavailable' });
  });
});
