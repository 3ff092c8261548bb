import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it, vi } from 'vitest';
import {
  readNotificationCount,
  recountNotifications,
} from '../../../shared/adapters/notifications/notification-counter.ts';
import { createNotificationRepository } from '../../../shared/adapters/notifications/notification-repository.ts';
import { audit } from '../../support/audit.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { countRequests, withInterruption } from '../../support/dynamodb-faults.ts';
import { webhookNotification } from '../../support/notifications.ts';

const { client, connect, newTenant } = useDatabase();
const TABLE = 'notifications';
const WRITE = 'TransactWriteItemsCommand';
const LIMIT = 3;

const notificationsOn = (database: typeof client) => createNotificationRepository(database, TABLE);
const notifications = notificationsOn(client);

const create = (tenant: string, { limit = LIMIT, database = client } = {}): Promise<string> =>
  notificationsOn(database).create({ tenant, attributes: webhookNotification(), audit, limit });

const createMany = async (tenant: string, amount: number): Promise<string[]> => {
  const ids: string[] = [];
  while (ids.length < amount) ids.push(await create(tenant));
  return ids;
};

const count = (tenant: string) => readNotificationCount(client, TABLE, tenant);

/** Returns the number of the tenant's notifications, without the default notification. */
const stored = async (tenant: string): Promise<number> =>
  (await Array.fromAsync(notifications.list(tenant, null, 100))).length - 1;

const QUOTA_EXCEEDED = {
  type: 'forbiddenError',
  details: 'notificationsPerTenant: at most 3 notifications in an account',
};

describe('the notification quota', () => {
  it('is read while the limit is being read', async () => {
    const database = connect();
    const { promise: limit, resolve } = Promise.withResolvers<number>();
    const sent = vi.spyOn(database, 'send');
    const created = notificationsOn(database).create({
      tenant: newTenant(),
      attributes: webhookNotification(),
      audit,
      limit: () => limit,
    });
    expect(sent).toHaveBeenCalledOnce();
    resolve(0);
    await expect(created).rejects.toMatchObject({ type: 'forbiddenError' });
  });

  it('refuses a create without a transaction', async () => {
    const tenant = newTenant();
    await createMany(tenant, LIMIT);
    const database = connect();
    const requests = countRequests(database);
    await expect(create(tenant, { database })).rejects.toMatchObject(QUOTA_EXCEEDED);
    expect(requests).toEqual({ GetItemCommand: 1 });
  });

  it('is not exceeded by concurrent creates', async () => {
    const tenant = newTenant();
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => create(tenant)));
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(refused).toEqual(Array.from({ length: 10 - LIMIT }, () => expect.objectContaining(QUOTA_EXCEEDED)));
    expect([await stored(tenant), await count(tenant)]).toEqual([LIMIT, LIMIT]);
  });

  it('allows as many notifications as its limit, names it in its error, and allows one create for each deletion', async () => {
    const tenant = newTenant();
    const [first = '', second = ''] = await createMany(tenant, LIMIT);
    await expect(create(tenant)).rejects.toMatchObject(QUOTA_EXCEEDED);
    for (const id of [first, second]) await notifications.delete({ tenant, id }, audit);
    await createMany(tenant, 2);
    await expect(create(tenant)).rejects.toMatchObject(QUOTA_EXCEEDED);
  });
});

describe('the notification counter', () => {
  it('is 0 for a tenant without notifications', async () => {
    expect(await count(newTenant())).toBe(0);
  });

  it('counts a notification once that was replaced between the read and the write of its delete', async () => {
    const tenant = newTenant();
    const [id = ''] = await createMany(tenant, 2);
    const replace = async () => {
      const found = await notifications.get({ tenant, id });
      if (found)
        await notifications.replace({
          key: { tenant, id },
          old: found.stored,
          attributes: webhookNotification(),
          entry: audit,
        });
    };
    const overtaken = withInterruption(connect(), WRITE, replace);
    expect(await notificationsOn(overtaken).delete({ tenant, id }, audit)).toBe(true);
    expect([await stored(tenant), await count(tenant)]).toEqual([1, 1]);
  });
});

describe('a recount', () => {
  const setCounter = (tenant: string, attributes: { used: number; changes: number }) =>
    client.send(
      new PutCommand({ TableName: TABLE, Item: { pk: `quota#${tenant}`, sk: 'notifications', ...attributes } }),
    );

  it('corrects the counter', async () => {
    const tenant = newTenant();
    await createMany(tenant, 2);
    await setCounter(tenant, { used: 7, changes: 9 });
    expect(await recountNotifications(client, TABLE, tenant, audit)).toEqual({ before: 7, after: 2 });
    expect(await count(tenant)).toBe(2);
  });

  it('creates a missing counter', async () => {
    const tenant = newTenant();
    expect(await recountNotifications(client, TABLE, tenant, audit)).toEqual({ before: 0, after: 0 });
    await createMany(tenant, LIMIT);
    await expect(create(tenant)).rejects.toMatchObject(QUOTA_EXCEEDED);
  });

  it.each([
    ['before', 'QueryCommand'],
    ['after', WRITE],
  ])('is exact if a notification is created and another one deleted %s the count', async (_, command) => {
    const tenant = newTenant();
    const [id = ''] = await createMany(tenant, 2);
    const change = async () => {
      await create(tenant);
      await notifications.delete({ tenant, id }, audit);
      await create(tenant);
    };
    const overtaken = withInterruption(connect(), command, change);
    expect(await recountNotifications(overtaken, TABLE, tenant, audit)).toMatchObject({ after: 3 });
    expect([await stored(tenant), await count(tenant)]).toEqual([3, 3]);
  });

  it('fails with 503 if notifications change in every attempt', async () => {
    const tenant = newTenant();
    const overtaken = withInterruption(
      connect(),
      'QueryCommand',
      () => create(tenant, { limit: 100 }),
      () => true,
    );
    await expect(recountNotifications(overtaken, TABLE, tenant, audit)).rejects.toMatchObject({
      type: 'serviceUnavailable',
    });
  });
});
