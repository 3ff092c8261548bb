import { ConfiguredRetryStrategy } from '@smithy/core/retry';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { logger } from '../../../shared/adapters/logger.ts';
import { readNotificationCount } from '../../../shared/adapters/notifications/notification-counter.ts';
import {
  createNotificationRepository,
  type NotificationKey,
} from '../../../shared/adapters/notifications/notification-repository.ts';
import type { NotificationAttributes } from '../../../shared/contracts/notification.ts';
import { audit } from '../../support/audit.ts';
import { itemsOf, useDatabase } from '../../support/dynamodb.ts';
import {
  countRequests,
  type KilledRequest,
  type LateRequest,
  withDelayedWrites,
  withKilledWorker,
} from '../../support/dynamodb-faults.ts';
import { incompressibleEntries, validDetails, webhookNotification } from '../../support/notifications.ts';
import { recordMetrics } from '../../support/printed-metrics.ts';

const { client, connect, newTenant } = useDatabase();
beforeEach(() => {
  vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
  recordMetrics();
});
afterEach(() => {
  vi.restoreAllMocks();
});

const repositoryOn = (database: typeof client) =>
  createNotificationRepository(database, 'notifications', () => Date.UTC(2026, 10, 21));
const notifications = repositoryOn(client);

/** A notification with one chunk. */
const large = (label: string) =>
  webhookNotification({ label, details: { ...validDetails.webhook, ...incompressibleEntries(105, label) } });

const create = async (tenant: string, attributes: NotificationAttributes): Promise<NotificationKey> => ({
  tenant,
  id: await notifications.create({ tenant, attributes, audit }),
});

/** Replaces a notification. @returns false if it does not exist or has changed */
const replace = async (key: NotificationKey, attributes: NotificationAttributes, repository = notifications) => {
  const found = await notifications.get(key);
  return found !== undefined && repository.replace({ key, old: found.stored, attributes, entry: audit });
};

type Repository = typeof notifications;

/** A client that repeats every write. DynamoDB receives the first copy when the test sends its `late` request. */
const slowDatabase = (late: LateRequest[]) =>
  withDelayedWrites(connect({ retryStrategy: new ConfiguredRetryStrategy(3, () => 1) }), late);

const expectExactCounter = async (tenant: string): Promise<void> => {
  const stored = (await itemsOf(client, 'notifications', `notification#${tenant}`)).length;
  expect(await readNotificationCount(client, 'notifications', tenant)).toBe(stored);
};

it('a large notification writes its chunks once, without an expiry', async () => {
  const tenant = newTenant();
  const database = connect();
  const counts = countRequests(database);
  await repositoryOn(database).create({ tenant, attributes: large('a'), audit });
  expect(counts).toMatchObject({ BatchWriteItemCommand: 1 });
  expect(await itemsOf(client, 'notifications', `chunk#${tenant}`)).toEqual([
    expect.not.objectContaining({ ttl: expect.anything() }),
  ]);
});

describe('a writer that crashes', () => {
  const requests = { create: 2, replace: 3, delete: 3 };
  const fates: KilledRequest[] = ['lost', 'applied', 'delayed'];
  const old = large('a');
  /** Each write of a stored notification, and the contents that it may leave if it crashes. */
  const writes = {
    create: {
      write: (worker: Repository, { tenant }: NotificationKey) =>
        worker.create({ tenant, attributes: large('b'), audit }),
      possible: [old],
    },
    replace: {
      write: (worker: Repository, key: NotificationKey) => replace(key, large('b'), worker),
      possible: [old, large('b')],
    },
    delete: {
      write: (worker: Repository, key: NotificationKey) => worker.delete(key, audit),
      possible: [old, undefined],
    },
  } as const;
  const kinds = ['create', 'replace', 'delete'] as const;
  const crashes = kinds.flatMap((kind) =>
    Array.from({ length: requests[kind] }, (_, index) => index + 1).flatMap((number) =>
      fates.map((fate) => [kind, number, fate] as const),
    ),
  );

  it.each(kinds)('can crash at each of its requests: %s', async (kind) => {
    const database = connect();
    const counts = countRequests(database);
    await writes[kind].write(repositoryOn(database), await create(newTenant(), old));
    expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(requests[kind]);
  });

  it.each(crashes)(
    'leaves the old or the new version, and an exact counter: %s, request %i %s',
    async (kind, number, fate) => {
      const { write, possible } = writes[kind];
      const key = await create(newTenant(), old);
      const late: LateRequest[] = [];
      await write(repositoryOn(withKilledWorker(connect(), number, fate, late)), key).catch(() => undefined);
      for (const { send } of late) await send();
      const found = (await notifications.get(key))?.record;
      expect(possible.map((attributes) => attributes && { id: key.id, ...attributes })).toContainEqual(found);
      await expectExactCounter(key.tenant);
    },
  );

  it.each(kinds)(
    'or that repeats a write, whose first copy arrives late, keeps the result of the last write and an exact counter: %s',
    async (kind) => {
      const { write, possible } = writes[kind];
      const key = await create(newTenant(), old);
      const late: LateRequest[] = [];
      await write(repositoryOn(slowDatabase(late)), key);
      for (const { send } of late) await send();
      const [, last = kind === 'create' ? old : undefined] = possible;
      expect((await notifications.get(key))?.record).toEqual(last && { id: key.id, ...last });
      await expectExactCounter(key.tenant);
    },
  );
});
