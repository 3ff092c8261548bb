import { afterEach, describe, expect, it, vi } from 'vitest';
import { logger } from '../../../shared/adapters/logger.ts';
import { createDeleteRecorder } from '../../../shared/adapters/notifications/notification-counter.ts';
import { createNotificationQuota } from '../../../shared/adapters/notifications/notification-quota.ts';
import { createNotificationRepository } from '../../../shared/adapters/notifications/notification-repository.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import {
  countRequests,
  type LateRequest,
  withInterruption,
  withLateCopies,
  withLostResponse,
  withThrottling,
} from '../../support/dynamodb-faults.ts';
import { webhookNotification } from '../../support/notifications.ts';

const { client, connect } = useDatabase();
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

const create = async (tenant: string, usedQuota = quota): Promise<string> => {
  await usedQuota.reserve(tenant);
  return notifications.create(tenant, webhookNotification());
};

const createMany = async (tenant: string, amount: number): Promise<string[]> => {
  const ids: string[] = [];
  while (ids.length < amount) ids.push(await create(tenant));
  return ids;
};

const recordDelete = createDeleteRecorder(client, 'notifications');

const deleteOne = async (tenant: string, id = ''): Promise<void> => {
  await notifications.delete({ tenant, id });
  await recordDelete(tenant);
};

const QUOTA_EXCEEDED = {
  type: 'forbiddenError',
  details: 'notificationsPerTenant: at most 3 notifications in an account',
};

describe('the notification quota', () => {
  it('allows as many notifications as its limit, and names the limit in its error', async () => {
    const tenant = newTenant();
    await createMany(tenant, LIMIT);
    await expect(create(tenant)).rejects.toMatchObject(QUOTA_EXCEEDED);
    await expect(create(tenant)).rejects.toMatchObject(QUOTA_EXCEEDED);
  });

  it('is separate for each tenant', async () => {
    const [first, second] = [newTenant(), newTenant()];
    await createMany(first, LIMIT);
    await createMany(second, LIMIT);
    await expect(create(first)).rejects.toMatchObject(QUOTA_EXCEEDED);
  });

  it('allows one create for each deleted notification', async () => {
    const tenant = newTenant();
    const [first = '', second = ''] = await createMany(tenant, LIMIT);
    for (const id of [first, second]) await deleteOne(tenant, id);
    await createMany(tenant, 2);
    await expect(create(tenant)).rejects.toMatchObject(QUOTA_EXCEEDED);
  });

  it('allows any number of alternating creates and deletes', async () => {
    const tenant = newTenant();
    for (let round = 0; round < 4 * LIMIT; round++) {
      await deleteOne(tenant, await create(tenant));
    }
    await createMany(tenant, LIMIT);
    await expect(create(tenant)).rejects.toMatchObject(QUOTA_EXCEEDED);
  });

  it('does not count creates that failed after their reservation', async () => {
    const tenant = newTenant();
    for (let failed = 0; failed < 5 * LIMIT; failed++) await quota.reserve(tenant);
    await createMany(tenant, LIMIT);
    await expect(create(tenant)).rejects.toMatchObject(QUOTA_EXCEEDED);
  });

  it.each(['UpdateItemCommand', 'GetItemCommand', 'QueryCommand'])(
    'is exact if responses are lost: %s',
    async (command) => {
      const tenant = newTenant();
      for (let number = 0; number < LIMIT; number++) {
        await create(tenant, quotaOn(withLostResponse(connect(), command)));
      }
      await expect(create(tenant, quotaOn(withLostResponse(connect(), command)))).rejects.toMatchObject(QUOTA_EXCEEDED);
    },
  );

  it('is not exceeded if a copy of a correction arrives late', async () => {
    const tenant = newTenant();
    const ids = await createMany(tenant, LIMIT);
    await deleteOne(tenant, ids[0]);
    await deleteOne(tenant, ids[1]);
    const late: LateRequest[] = [];
    await create(tenant, quotaOn(withLateCopies(connect(), late)));
    await create(tenant);
    expect(late.map(({ command }) => command)).toEqual(['UpdateItemCommand', 'UpdateItemCommand']);
    for (const { send } of late) await send();
    await expect(create(tenant)).rejects.toMatchObject(QUOTA_EXCEEDED);
  });

  it('is exceeded only by concurrent creates', async () => {
    const tenant = newTenant();
    const ids = await createMany(tenant, LIMIT);
    await deleteOne(tenant, ids[0]);
    const concurrent = 4;
    await Promise.allSettled(Array.from({ length: concurrent }, () => create(tenant)));
    const stored = (await Array.fromAsync(notifications.list(tenant, null, 100))).length - 1;
    expect(stored).toBeGreaterThanOrEqual(LIMIT);
    expect(stored).toBeLessThanOrEqual(LIMIT - 1 + concurrent);
    await expect(create(tenant)).rejects.toMatchObject(QUOTA_EXCEEDED);
  });

  it('applies a raised or lowered limit', async () => {
    const tenant = newTenant();
    await createMany(tenant, LIMIT);
    await create(tenant, quotaOn(client, LIMIT + 1));
    await expect(create(tenant)).rejects.toMatchObject(QUOTA_EXCEEDED);
    await expect(create(tenant, quotaOn(client, LIMIT + 1))).rejects.toMatchObject({ type: 'forbiddenError' });
    await create(tenant, quotaOn(client, LIMIT + 2));
  });

  it('needs one request while the tenant is below its limit', async () => {
    const database = connect();
    const counts = countRequests(database);
    await quotaOn(database).reserve(newTenant());
    expect(counts).toEqual({ UpdateItemCommand: 1 });
  });

  it('fails if the counter cannot be written', async () => {
    const failing = quotaOn(withThrottling(connect({ maxAttempts: 1 }), 'UpdateItemCommand'));
    await expect(failing.reserve(newTenant())).rejects.toMatchObject({
      name: 'ProvisionedThroughputExceededException',
    });
  });

  it('fails with 503 if other requests keep correcting the counter first', async () => {
    const tenant = newTenant();
    for (let reserved = 0; reserved < LIMIT; reserved++) await quota.reserve(tenant);
    const fillUp = async () => {
      for (let reserved = 0; reserved < LIMIT; reserved++) await quota.reserve(tenant);
    };
    const overtaken = quotaOn(withInterruption(connect(), 'QueryCommand', fillUp, () => true));
    await expect(overtaken.reserve(tenant)).rejects.toMatchObject({ type: 'serviceUnavailable' });
  });
});

describe('a tenant at its quota', () => {
  /** Creates a tenant at its limit, with one rejected create. */
  const fullTenant = async () => {
    const tenant = newTenant();
    const ids = await createMany(tenant, LIMIT);
    await expect(create(tenant)).rejects.toMatchObject(QUOTA_EXCEEDED);
    return { tenant, ids };
  };

  it('is rejected without counting its notifications again', async () => {
    const { tenant } = await fullTenant();
    const database = connect();
    const counts = countRequests(database);
    await expect(create(tenant, quotaOn(database))).rejects.toMatchObject(QUOTA_EXCEEDED);
    expect(counts).toEqual({ UpdateItemCommand: 1, GetItemCommand: 1 });
  });

  it('can create one notification immediately after a delete', async () => {
    const { tenant, ids } = await fullTenant();
    await deleteOne(tenant, ids[0]);
    await create(tenant);
    await expect(create(tenant)).rejects.toMatchObject(QUOTA_EXCEEDED);
  });

  it('can create a notification after a delete between the count and the write that records it', async () => {
    const tenant = newTenant();
    const ids = await createMany(tenant, LIMIT);
    const isRecord = (count: number) => count === 2;
    const overtaken = withInterruption(connect(), 'UpdateItemCommand', () => deleteOne(tenant, ids[0]), isRecord);
    await expect(create(tenant, quotaOn(overtaken))).rejects.toMatchObject(QUOTA_EXCEEDED);
    await create(tenant);
    await expect(create(tenant)).rejects.toMatchObject(QUOTA_EXCEEDED);
  });

  it('is counted again after 60 s if a delete was not recorded', async () => {
    const { tenant, ids } = await fullTenant();
    await notifications.delete({ tenant, id: ids[0] ?? '' });
    now += 59_999;
    await expect(create(tenant)).rejects.toMatchObject(QUOTA_EXCEEDED);
    now += 1;
    await create(tenant);
  });

  it('is counted again if the count is from a clock more than 60 s ahead', async () => {
    const tenant = newTenant();
    const ids = await createMany(tenant, LIMIT);
    const ahead = quotaOn(client, LIMIT, () => now + 60_001);
    await expect(create(tenant, ahead)).rejects.toMatchObject(QUOTA_EXCEEDED);
    await notifications.delete({ tenant, id: ids[0] ?? '' });
    await create(tenant);
  });

  it('is counted once more, and stays rejected, if a copy of a recorded delete arrives late', async () => {
    const { tenant, ids } = await fullTenant();
    await notifications.delete({ tenant, id: ids[0] ?? '' });
    const late: LateRequest[] = [];
    await createDeleteRecorder(withLateCopies(connect(), late), 'notifications')(tenant);
    await create(tenant);
    await expect(create(tenant)).rejects.toMatchObject(QUOTA_EXCEEDED);
    expect(late.map(({ command }) => command)).toEqual(['UpdateItemCommand']);
    for (const { send } of late) await send();
    await expect(create(tenant)).rejects.toMatchObject(QUOTA_EXCEEDED);
    const database = connect();
    const counts = countRequests(database);
    await expect(create(tenant, quotaOn(database))).rejects.toMatchObject(QUOTA_EXCEEDED);
    expect(counts).toEqual({ UpdateItemCommand: 1, GetItemCommand: 1 });
  });

  it('is rejected and logged if the count cannot be recorded', async () => {
    const tenant = newTenant();
    await createMany(tenant, LIMIT);
    const warn = vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
    const failing = quotaOn(withThrottling(connect({ maxAttempts: 1 }), 'UpdateItemCommand', 1, 1));
    await expect(create(tenant, failing)).rejects.toMatchObject(QUOTA_EXCEEDED);
    expect(warn).toHaveBeenCalledWith(
      'notification quota: full account not recorded',
      expect.objectContaining({ tenant_id: tenant }),
    );
  });
});

describe('recording a delete', () => {
  it('logs a failed write and does not reject', async () => {
    const warn = vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
    const tenant = newTenant();
    const failing = withThrottling(connect({ maxAttempts: 1 }), 'UpdateItemCommand');
    await createDeleteRecorder(failing, 'notifications')(tenant);
    expect(warn).toHaveBeenCalledWith(
      'notification quota: delete not recorded',
      expect.objectContaining({ tenant_id: tenant }),
    );
  });

  it('does not change the quota of a tenant without a counter', async () => {
    const tenant = newTenant();
    await recordDelete(tenant);
    await createMany(tenant, LIMIT);
    await expect(create(tenant)).rejects.toMatchObject(QUOTA_EXCEEDED);
  });
});
