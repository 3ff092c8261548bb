import { afterAll, describe, expect, it } from 'vitest';
import { createNotificationQuota } from '../../shared/adapters/notification-quota.ts';
import { createNotificationRepository } from '../../shared/adapters/notification-repository.ts';
import { startDatabase } from '../support/dynamodb.ts';
import {
  counted,
  interrupted,
  type LateRequest,
  losingAnswer,
  throttled,
  withLateCopies,
} from '../support/dynamodb-faults.ts';
import { webhookNotification } from '../support/notifications.ts';

const { client, connect, stop } = await startDatabase();
afterAll(stop);

const LIMIT = 3;
const notifications = createNotificationRepository(client, 'notifications');
const quotaOn = (database: typeof client, limit = LIMIT) => createNotificationQuota(database, 'notifications', limit);
const quota = quotaOn(client);

let tenants = 0;
const newTenant = (): string => `quota${tenants++}`;

const create = async (tenant: string, by = quota): Promise<string> => {
  await by.reserve(tenant);
  return notifications.create(tenant, webhookNotification());
};

const createMany = async (tenant: string, amount: number): Promise<string[]> => {
  const ids: string[] = [];
  while (ids.length < amount) ids.push(await create(tenant));
  return ids;
};

const REFUSED = { type: 'forbiddenError', details: 'notificationsPerTenant: at most 3 notifications in an account' };

describe('the notifications that a tenant may have', () => {
  it('are as many as the limit, which the refusal names', async () => {
    const tenant = newTenant();
    await createMany(tenant, LIMIT);
    await expect(create(tenant)).rejects.toMatchObject(REFUSED);
    await expect(create(tenant)).rejects.toMatchObject(REFUSED);
  });

  it('are each tenant’s own', async () => {
    const [one, other] = [newTenant(), newTenant()];
    await createMany(one, LIMIT);
    await createMany(other, LIMIT);
    await expect(create(one)).rejects.toMatchObject(REFUSED);
  });

  it('can be created again after some were deleted, as many as were deleted', async () => {
    const tenant = newTenant();
    const [first = '', second = ''] = await createMany(tenant, LIMIT);
    for (const id of [first, second]) await notifications.delete({ tenant, id });
    await createMany(tenant, 2);
    await expect(create(tenant)).rejects.toMatchObject(REFUSED);
  });

  it('can be created and deleted any number of times', async () => {
    const tenant = newTenant();
    for (let round = 0; round < 4 * LIMIT; round++) {
      await notifications.delete({ tenant, id: await create(tenant) });
    }
    await createMany(tenant, LIMIT);
    await expect(create(tenant)).rejects.toMatchObject(REFUSED);
  });

  it('are not fewer where creates failed after their reservation', async () => {
    const tenant = newTenant();
    for (let failed = 0; failed < 5 * LIMIT; failed++) await quota.reserve(tenant);
    await createMany(tenant, LIMIT);
    await expect(create(tenant)).rejects.toMatchObject(REFUSED);
  });

  it.each(['UpdateItemCommand', 'GetItemCommand', 'QueryCommand'])(
    'are neither more nor fewer where responses were lost: %s',
    async (command) => {
      const tenant = newTenant();
      for (let number = 0; number < LIMIT; number++) {
        await create(tenant, quotaOn(losingAnswer(connect(), command)));
      }
      await expect(create(tenant, quotaOn(losingAnswer(connect(), command)))).rejects.toMatchObject(REFUSED);
    },
  );

  it('are not more where a second copy of a correction arrives late', async () => {
    const tenant = newTenant();
    const ids = await createMany(tenant, LIMIT);
    await notifications.delete({ tenant, id: ids[0] ?? '' });
    await notifications.delete({ tenant, id: ids[1] ?? '' });
    const late: LateRequest[] = [];
    await create(tenant, quotaOn(withLateCopies(connect(), late)));
    await create(tenant);
    expect(late.map(({ command }) => command)).toEqual(['UpdateItemCommand', 'UpdateItemCommand']);
    for (const { land } of late) await land();
    await expect(create(tenant)).rejects.toMatchObject(REFUSED);
  });

  it('are more only by those created at the same moment', async () => {
    const tenant = newTenant();
    const ids = await createMany(tenant, LIMIT);
    await notifications.delete({ tenant, id: ids[0] ?? '' });
    const atOnce = 4;
    await Promise.allSettled(Array.from({ length: atOnce }, () => create(tenant)));
    const stored = (await Array.fromAsync(notifications.list(tenant, null, 100))).length - 1;
    expect(stored).toBeGreaterThanOrEqual(LIMIT);
    expect(stored).toBeLessThanOrEqual(LIMIT - 1 + atOnce);
    await expect(create(tenant)).rejects.toMatchObject(REFUSED);
  });

  it('follow a limit that is raised or lowered', async () => {
    const tenant = newTenant();
    await createMany(tenant, LIMIT);
    await create(tenant, quotaOn(client, LIMIT + 1));
    await expect(create(tenant)).rejects.toMatchObject(REFUSED);
    await expect(create(tenant, quotaOn(client, LIMIT + 1))).rejects.toMatchObject({ type: 'forbiddenError' });
    await create(tenant, quotaOn(client, LIMIT + 2));
  });

  it('cost one request below the limit', async () => {
    const database = connect();
    const counts = counted(database);
    await quotaOn(database).reserve(newTenant());
    expect(counts).toEqual({ UpdateItemCommand: 1 });
  });

  it('cannot be created where the counter cannot be written', async () => {
    const failing = quotaOn(throttled(connect({ maxAttempts: 1 }), 'UpdateItemCommand'));
    await expect(failing.reserve(newTenant())).rejects.toMatchObject({
      name: 'ProvisionedThroughputExceededException',
    });
  });

  it('are tried for again, then 503, where others always correct the counter first', async () => {
    const tenant = newTenant();
    for (let reserved = 0; reserved < LIMIT; reserved++) await quota.reserve(tenant);
    const fillUp = async () => {
      for (let reserved = 0; reserved < LIMIT; reserved++) await quota.reserve(tenant);
    };
    const overtaken = quotaOn(interrupted(connect(), 'QueryCommand', fillUp, () => true));
    await expect(overtaken.reserve(tenant)).rejects.toMatchObject({ type: 'serviceUnavailable' });
  });
});
