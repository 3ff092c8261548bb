import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { logger } from '../../../shared/adapters/logger.ts';
import { createDeleteRecorder } from '../../../shared/adapters/notifications/notification-counter.ts';
import { createNotificationQuota } from '../../../shared/adapters/notifications/notification-quota.ts';
import { createNotificationRepository } from '../../../shared/adapters/notifications/notification-repository.ts';
import { startDatabase } from '../../support/dynamodb.ts';
import {
  countRequests,
  type LateRequest,
  withInterruption,
  withLateCopies,
  withLostResponse,
  withThrottling,
} from '../../support/dynamodb-faults.ts';
import { webhookNotification } from '../../support/notifications.ts';

const { client, connect, stop } = await startDatabase();
afterAll(stop);
afterEach(() => {
  vi.restoreAllMocks();
});

const LIMIT = 3;
let now = Date.UTC(2026, 10, 21);
const clock = () => now;
const notifications = createNotificationRepository(client, 'notifications');
const quotaOn = (database: typeof client, limit = LIMIT, time = clock) =>
  createNotificationQuota(database, 'notifications', limit, time);
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

const recordDelete = createDeleteRecorder(client, 'notifications');

const remove = async (tenant: string, id = ''): Promise<void> => {
  await notifications.delete({ tenant, id });
  await recordDelete(tenant);
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
    for (const id of [first, second]) await remove(tenant, id);
    await createMany(tenant, 2);
    await expect(create(tenant)).rejects.toMatchObject(REFUSED);
  });

  it('can be created and deleted any number of times', async () => {
    const tenant = newTenant();
    for (let round = 0; round < 4 * LIMIT; round++) {
      await remove(tenant, await create(tenant));
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
        await create(tenant, quotaOn(withLostResponse(connect(), command)));
      }
      await expect(create(tenant, quotaOn(withLostResponse(connect(), command)))).rejects.toMatchObject(REFUSED);
    },
  );

  it('are not more where a second copy of a correction arrives late', async () => {
    const tenant = newTenant();
    const ids = await createMany(tenant, LIMIT);
    await remove(tenant, ids[0]);
    await remove(tenant, ids[1]);
    const late: LateRequest[] = [];
    await create(tenant, quotaOn(withLateCopies(connect(), late)));
    await create(tenant);
    expect(late.map(({ command }) => command)).toEqual(['UpdateItemCommand', 'UpdateItemCommand']);
    for (const { send } of late) await send();
    await expect(create(tenant)).rejects.toMatchObject(REFUSED);
  });

  it('are more only by those created at the same moment', async () => {
    const tenant = newTenant();
    const ids = await createMany(tenant, LIMIT);
    await remove(tenant, ids[0]);
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
    const counts = countRequests(database);
    await quotaOn(database).reserve(newTenant());
    expect(counts).toEqual({ UpdateItemCommand: 1 });
  });

  it('cannot be created where the counter cannot be written', async () => {
    const failing = quotaOn(withThrottling(connect({ maxAttempts: 1 }), 'UpdateItemCommand'));
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
    const overtaken = quotaOn(withInterruption(connect(), 'QueryCommand', fillUp, () => true));
    await expect(overtaken.reserve(tenant)).rejects.toMatchObject({ type: 'serviceUnavailable' });
  });
});

describe('a tenant that was countRequests at its limit', () => {
  /** A tenant that was refused once. */
  const fullTenant = async () => {
    const tenant = newTenant();
    const ids = await createMany(tenant, LIMIT);
    await expect(create(tenant)).rejects.toMatchObject(REFUSED);
    return { tenant, ids };
  };

  it('is refused without counting its notifications again', async () => {
    const { tenant } = await fullTenant();
    const database = connect();
    const counts = countRequests(database);
    await expect(create(tenant, quotaOn(database))).rejects.toMatchObject(REFUSED);
    expect(counts).toEqual({ UpdateItemCommand: 1, GetItemCommand: 1 });
  });

  it('can create at once after a delete, as many as were deleted', async () => {
    const { tenant, ids } = await fullTenant();
    await remove(tenant, ids[0]);
    await create(tenant);
    await expect(create(tenant)).rejects.toMatchObject(REFUSED);
  });

  it('can create after a delete that happened between the count and its record', async () => {
    const tenant = newTenant();
    const ids = await createMany(tenant, LIMIT);
    const isRecord = (count: number) => count === 2;
    const overtaken = withInterruption(connect(), 'UpdateItemCommand', () => remove(tenant, ids[0]), isRecord);
    await expect(create(tenant, quotaOn(overtaken))).rejects.toMatchObject(REFUSED);
    await create(tenant);
    await expect(create(tenant)).rejects.toMatchObject(REFUSED);
  });

  it('is countRequests again after 60 seconds, in case that a delete could not be recorded', async () => {
    const { tenant, ids } = await fullTenant();
    await notifications.delete({ tenant, id: ids[0] ?? '' });
    now += 59_999;
    await expect(create(tenant)).rejects.toMatchObject(REFUSED);
    now += 1;
    await create(tenant);
  });

  it('is countRequests again where the count is from a clock that is more than 60 seconds ahead', async () => {
    const tenant = newTenant();
    const ids = await createMany(tenant, LIMIT);
    const ahead = quotaOn(client, LIMIT, () => now + 60_001);
    await expect(create(tenant, ahead)).rejects.toMatchObject(REFUSED);
    await notifications.delete({ tenant, id: ids[0] ?? '' });
    await create(tenant);
  });

  it('is countRequests once more, and stays refused, where a copy of a delete’s record arrives late', async () => {
    const { tenant, ids } = await fullTenant();
    await notifications.delete({ tenant, id: ids[0] ?? '' });
    const late: LateRequest[] = [];
    await createDeleteRecorder(withLateCopies(connect(), late), 'notifications')(tenant);
    await create(tenant);
    await expect(create(tenant)).rejects.toMatchObject(REFUSED);
    expect(late.map(({ command }) => command)).toEqual(['UpdateItemCommand']);
    for (const { send } of late) await send();
    await expect(create(tenant)).rejects.toMatchObject(REFUSED);
    const database = connect();
    const counts = countRequests(database);
    await expect(create(tenant, quotaOn(database))).rejects.toMatchObject(REFUSED);
    expect(counts).toEqual({ UpdateItemCommand: 1, GetItemCommand: 1 });
  });

  it('is refused, too, where that it is full cannot be recorded, which is logged', async () => {
    const tenant = newTenant();
    await createMany(tenant, LIMIT);
    const warn = vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
    const failing = quotaOn(withThrottling(connect({ maxAttempts: 1 }), 'UpdateItemCommand', 1, 1));
    await expect(create(tenant, failing)).rejects.toMatchObject(REFUSED);
    expect(warn).toHaveBeenCalledWith(
      'notification quota: full account not recorded',
      expect.objectContaining({ tenant_id: tenant }),
    );
  });
});

describe('the record of a delete', () => {
  it('fails nothing where it cannot be written, and is logged', async () => {
    const warn = vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
    const tenant = newTenant();
    const failing = withThrottling(connect({ maxAttempts: 1 }), 'UpdateItemCommand');
    await createDeleteRecorder(failing, 'notifications')(tenant);
    expect(warn).toHaveBeenCalledWith(
      'notification quota: delete not recorded',
      expect.objectContaining({ tenant_id: tenant }),
    );
  });

  it('does not count as a notification of a tenant without a counter', async () => {
    const tenant = newTenant();
    await recordDelete(tenant);
    await createMany(tenant, LIMIT);
    await expect(create(tenant)).rejects.toMatchObject(REFUSED);
  });
});
