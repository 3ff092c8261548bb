import { describe, expect, it } from 'vitest';
import type { Audit } from '../../../shared/adapters/audits/audit-log.ts';
import { createNotificationRepository } from '../../../shared/adapters/notifications/notification-repository.ts';
import { audit } from '../../support/audit.ts';
import { itemsOf, useDatabase } from '../../support/dynamodb.ts';
import { countRequests, withRejections } from '../../support/dynamodb-faults.ts';
import { webhookNotification } from '../../support/notifications.ts';
import { testClock } from '../../support/test-clock.ts';

const { client, connect, newTenant } = useDatabase();
const DAY_MS = 86_400_000;

const setUp = (database = client) => {
  const tenant = newTenant();
  const { clock, wait: advance } = testClock(Date.UTC(2026, 0, 1));
  const notifications = createNotificationRepository(database, 'notifications', clock);
  let entries = 0;
  const counted: Audit = (change) => {
    entries++;
    return audit(change);
  };
  return {
    tenant,
    notifications,
    entries: () => entries,
    advance,
    create: (key: string | undefined, body = '{}', limit = 1_000, owner = tenant) =>
      notifications.create({
        tenant: owner,
        attributes: webhookNotification(),
        audit: counted,
        limit,
        request: key === undefined ? undefined : { key, body },
      }),
    count: async () => (await itemsOf(client, 'notifications', `notification#${tenant}`)).length,
  };
};

const reused = { type: 'idempotencyKeyReused' };

describe('a notification that is created with an idempotency key', () => {
  it('starts to read the limit only when the key has been read, so that no failure is unhandled', async () => {
    const { tenant, notifications } = setUp(withRejections(connect(), 'GetItemCommand', 1));
    let reads = 0;
    const limit = async () => {
      reads++;
      return 1;
    };
    const create = () =>
      notifications.create({
        tenant,
        attributes: webhookNotification(),
        audit,
        limit,
        request: { key: 'k', body: '{}' },
      });
    await expect(create()).rejects.toThrow();
    expect(reads).toBe(0);
    await create();
    expect(reads).toBe(1);
  });

  it('is created once, also if requests with the key are concurrent', async () => {
    const { create, count } = setUp();
    const ids = await Promise.all(Array.from({ length: 8 }, () => create('k')));
    expect(new Set([...ids, await create('k')]).size).toBe(1);
    expect(await count()).toBe(1);
  });

  it('is returned although the tenant is at its limit, and leaves one audit entry', async () => {
    const { create, entries } = setUp();
    const id = await create('k', '{}', 1);
    expect(await create('k', '{}', 1)).toBe(id);
    await expect(create('other', '{}', 1)).rejects.toMatchObject({ type: 'forbiddenError' });
    expect(entries()).toBe(1);
  });

  it('is never returned for another body, key or tenant', async () => {
    const { create, tenant, count } = setUp();
    const first = await create('k', 'a');
    await expect(create('k', 'b')).rejects.toMatchObject(reused);
    const ids = [first, await create('K', 'a'), await create('k', 'b', 1_000, `${tenant}#k`)];
    expect(new Set(ids).size).toBe(3);
    expect(await count()).toBe(2);
    const results = await Promise.allSettled([create('x', 'a'), create('x', 'b')]);
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(results).toContainEqual({ status: 'rejected', reason: expect.objectContaining(reused) });
  });

  it('is returned for 24 hours; then the key is free, even if its item is not deleted', async () => {
    const { create, advance } = setUp();
    const first = await create('k', 'a');
    advance(DAY_MS - 1_000);
    expect(await create('k', 'a')).toBe(first);
    advance(1_000);
    const second = await create('k', 'b');
    expect(second).not.toBe(first);
    expect(await create('k', 'b')).toBe(second);
  });

  it('is still returned after it was deleted', async () => {
    const { create, notifications, tenant, count } = setUp();
    const id = await create('k');
    await notifications.delete({ tenant, id }, audit);
    expect(await create('k')).toBe(id);
    expect(await count()).toBe(0);
  });

  it('stores neither the key nor the body', async () => {
    const { create, tenant } = setUp();
    await create('marker-key', 'marker-body');
    const items = await itemsOf(client, 'notifications', `idempotency#${tenant}`);
    expect(items).toHaveLength(1);
    expect(JSON.stringify(items)).not.toContain('marker');
  });
});

it('a notification that is created without an idempotency key needs no additional request', async () => {
  const database = connect();
  const requests = countRequests(database);
  await setUp(database).create(undefined);
  expect(requests).toMatchObject({ GetItemCommand: 1, TransactWriteItemsCommand: 1 });
});
