import { describe, expect, it } from 'vitest';
import { createNotificationRepository } from '../../../shared/adapters/notifications/notification-repository.ts';
import { takePage } from '../../../shared/api/request.ts';
import type { NotificationAttributes } from '../../../shared/contracts/notification.ts';
import { newNotificationId } from '../../../shared/domain/notification-id.ts';
import { audit } from '../../support/audit.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { countRequests } from '../../support/dynamodb-faults.ts';
import { entries, incompressibleEntries, validDetails, webhookNotification } from '../../support/notifications.ts';

const { client, connect, newTenant } = useDatabase();
const notifications = createNotificationRepository(client, 'notifications');
const DEFAULT = 'ntTechnicalContactsEmail';

/** Creates a tenant with `count` notifications. @returns their IDs in order */
const tenantWith = async (count: number) => {
  const tenant = newTenant();
  const ids: string[] = [];
  while (ids.length < count)
    ids.push(
      await notifications.create({ tenant, attributes: webhookNotification({ label: `${ids.length}` }), audit }),
    );
  return { tenant, ids };
};

const listed = async (tenant: string, from: string | null = null, pageSize = 3) =>
  (await Array.fromAsync(notifications.list(tenant, from, pageSize))).map(({ id }) => id);

describe('a list of a tenant’s notifications', () => {
  it('is in order of creation, with the default notification last', async () => {
    const { tenant, ids } = await tenantWith(7);
    expect(await listed(tenant)).toEqual([...ids, DEFAULT]);
  });

  it('starts with its marker, whether it still exists or not', async () => {
    const { tenant, ids } = await tenantWith(4);
    await notifications.delete({ tenant, id: ids[1] ?? '' }, audit);
    expect(await listed(tenant, ids[1])).toEqual([ids[2], ids[3], DEFAULT]);
    expect(await listed(tenant, ids[2])).toEqual([ids[2], ids[3], DEFAULT]);
    expect(await listed(tenant, DEFAULT)).toEqual([DEFAULT]);
  });

  it.each([
    ['before all ids', 'a', 3],
    ['a prefix of all ids', 'nt', 3],
    ['after all ids', 'zzz', 0],
    ['just after the default id', `${DEFAULT}a`, 0],
    ['longer than any key', 'nt'.padEnd(6_000, 'z'), 0],
    ['long and before all ids', 'a'.repeat(6_000), 3],
    ['not ASCII', '😀'.repeat(600), 0],
    ['a control character', '\u0001', 3],
  ])('accepts any marker: %s', async (_, marker, count) => {
    const { tenant } = await tenantWith(2);
    expect(await listed(tenant, marker)).toHaveLength(count);
  });

  it('reads no more notifications than its page needs', async () => {
    const { tenant } = await tenantWith(9);
    const database = connect();
    const counts = countRequests(database);
    await takePage(createNotificationRepository(database, 'notifications').list(tenant, null, 3), 2);
    expect(counts).toEqual({ QueryCommand: 1 });
  });
});

describe('a list by IDs', () => {
  const byIds = async (tenant: string, ids: string[], from: string | null = null, database = client) =>
    (await Array.fromAsync(createNotificationRepository(database, 'notifications').listByIds(tenant, ids, from))).map(
      ({ id }) => id,
    );

  it('contains each notification once, in order, regardless of the order of the IDs', async () => {
    const { tenant, ids } = await tenantWith(4);
    const [a = '', b = '', , d = ''] = ids;
    expect(await byIds(tenant, [d, a, DEFAULT, b, a, DEFAULT, d])).toEqual([a, b, d, DEFAULT]);
  });

  it('omits IDs that do not exist', async () => {
    const { tenant, ids } = await tenantWith(1);
    const [a = ''] = ids;
    expect(await byIds(tenant, ['', 'ntUnknown', newNotificationId(), a, '__proto__', 'x'.repeat(5_000)])).toEqual([a]);
    expect(await byIds(tenant, ['unknown'])).toEqual([]);
  });

  it('contains the default notification only if its ID is given', async () => {
    const { tenant, ids } = await tenantWith(1);
    expect(await byIds(tenant, ids)).toEqual(ids);
    expect(await byIds(tenant, [DEFAULT])).toEqual([DEFAULT]);
  });

  it('starts with its marker', async () => {
    const { tenant, ids } = await tenantWith(3);
    expect(await byIds(tenant, [...ids, DEFAULT], ids[1])).toEqual([ids[1], ids[2], DEFAULT]);
    expect(await byIds(tenant, [...ids, DEFAULT], `${DEFAULT}a`)).toEqual([]);
  });
});

describe('a list of large notifications', () => {
  /** A notification whose content compresses well, in its target. */
  const compressible = (label: string) =>
    webhookNotification({ label, details: { ...validDetails.webhook, ...entries(85, 'x'.repeat(4_000)) } });

  /** A notification with a content of `count` times 3 KB compressed, in its target up to 300 KB, or else in chunks. */
  const large = (label: string, count: number) =>
    webhookNotification({ label, details: { ...validDetails.webhook, ...incompressibleEntries(count, 'x') } });
  const IN_TARGET = 95;
  const IN_CHUNKS = 105;

  const tenantWithLarge = async (count: number, attributesOf: (label: string) => NotificationAttributes) => {
    const tenant = newTenant();
    const ids: string[] = [];
    while (ids.length < count)
      ids.push(await notifications.create({ tenant, attributes: attributesOf(`${ids.length}`), audit }));
    return { tenant, ids };
  };

  /** Counts the keys of BatchGetItem requests. */
  const countKeysRead = (database: typeof client) => {
    const read = { keys: 0 };
    database.middlewareStack.add(
      (next) => (args) => {
        const { input } = args;
        if (!('RequestItems' in input)) return next(args);
        for (const request of Object.values(input.RequestItems ?? {})) {
          if (!Array.isArray(request)) read.keys += request.Keys?.length ?? 0;
        }
        return next(args);
      },
      { step: 'serialize', priority: 'high' },
    );
    return read;
  };

  it('reads the chunks of no more notifications than fit into a page', async () => {
    const { tenant, ids } = await tenantWithLarge(20, (label) => large(label, IN_CHUNKS));
    const database = connect();
    const read = countKeysRead(database);
    const repository = createNotificationRepository(database, 'notifications');
    const { values, next } = await takePage(repository.list(tenant, null, 51), 50);
    expect(values.map(({ id }) => id)).toEqual(ids.slice(0, values.length));
    expect(next).toBe(ids[values.length]);
    expect(values.length).toBeGreaterThan(10);
    expect(read.keys).toBe(values.length + 1);
  });

  it('packs pages by the size before compression', async () => {
    const { tenant, ids } = await tenantWithLarge(40, compressible);
    const database = connect();
    const counts = countRequests(database);
    const repository = createNotificationRepository(database, 'notifications');
    const { values, next } = await takePage(repository.list(tenant, null, 51), 50);
    expect(values.map(({ id }) => id)).toEqual(ids.slice(0, values.length));
    expect(next).toBe(ids[values.length]);
    expect(values.length).toBeGreaterThan(10);
    expect(counts).toEqual({ QueryCommand: 1 });
  });

  it('is complete if its targets exceed the 1 MB of a query', async () => {
    const { tenant, ids } = await tenantWithLarge(8, (label) => large(label, IN_TARGET));
    const database = connect();
    const counts = countRequests(database);
    const found = await Array.fromAsync(createNotificationRepository(database, 'notifications').list(tenant, null, 50));
    expect(found.map(({ id }) => id)).toEqual([...ids, DEFAULT]);
    expect(counts.QueryCommand).toBeGreaterThan(1);
    const listedByIds = await Array.fromAsync(notifications.listByIds(tenant, ids, null));
    expect(listedByIds.map(({ id }) => id)).toEqual(ids);
  });
});
