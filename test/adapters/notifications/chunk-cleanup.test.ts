import { DeleteCommand, PutCommand, QueryCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { ConfiguredRetryStrategy } from '@smithy/core/retry';
import fc from 'fast-check';
import { ulid } from 'ulid';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { logger } from '../../../shared/adapters/logger.ts';
import { createNotificationRepository } from '../../../shared/adapters/notifications/notification-repository.ts';
import type { NotificationAttributes } from '../../../shared/contracts/notification.ts';
import { startDatabase } from '../../support/dynamodb.ts';
import {
  countRequests,
  type KilledRequest,
  type LateRequest,
  withDelayedWrites,
  withInterruption,
  withKilledWorker,
  withLostResponse,
  withThrottling,
} from '../../support/dynamodb-faults.ts';
import { entries, validDetails, webhookNotification } from '../../support/notifications.ts';
import { recordMetrics } from '../../support/printed-metrics.ts';

const { client, connect, stop } = await startDatabase();
afterAll(stop);
let metrics: ReturnType<typeof recordMetrics>;
beforeEach(() => {
  vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
  metrics = recordMetrics();
});
afterEach(() => {
  vi.restoreAllMocks();
});

const HOUR_MS = 3_600_000;
let now = Date.UTC(2026, 10, 21);
const clock = () => now;
/** The first copy of each write arrives late, the second one at once. */
const slowDatabase = (late: LateRequest[]) =>
  withDelayedWrites(connect({ retryStrategy: new ConfiguredRetryStrategy(3, () => 1) }), late);
const repositoryOn = (database: typeof client) => createNotificationRepository(database, 'notifications', clock);
const notifications = repositoryOn(client);

let tenants = 0;
const newTenant = (): string => `cleanup${tenants++}`;

const small = (letter: string) => webhookNotification({ label: letter });
/** Too large for a target, and of one chunk. */
const large = (letter: string) =>
  webhookNotification({ label: letter, details: { ...validDetails.webhook, ...entries(3, letter.repeat(4_000)) } });

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

/** The chunks that no target points to. */
const orphansOf = async (tenant: string): Promise<string[]> => {
  const targets = await stored(`notification#${tenant}`);
  const used = new Set(targets.map(({ sk, version }) => `${sk}#${version}`));
  return (await chunksOf(tenant)).filter((chunk) => !used.has(chunk.split('#').slice(0, 2).join('#')));
};

const created = async (tenant: string, attributes: NotificationAttributes) => ({
  tenant,
  id: await notifications.create(tenant, attributes),
});

const replaced = async (
  key: { tenant: string; id: string },
  attributes: NotificationAttributes,
  repository = notifications,
) => {
  const found = await notifications.get(key);
  return found !== undefined && repository.replace(key, found.stored, attributes);
};

/** The next writes of the tenant, later: as many as it takes, since each cleans up only so much, for so long. */
const writeLater = async (tenant: string, afterMs: number) => {
  now += afterMs;
  const key = await created(tenant, small('later'));
  for (let write = 0; write < 20 && (await cleanupItemsOf(tenant)).length > 0; write++) await replaced(key, small('b'));
};

describe('a large notification', () => {
  it('is written once, and its chunks never expire', async () => {
    const tenant = newTenant();
    const database = connect();
    const counts = countRequests(database);
    await repositoryOn(database).create(tenant, large('a'));
    expect(counts).toMatchObject({ BatchWriteItemCommand: 1 });
    expect(await stored(`chunk#${tenant}`)).toEqual([expect.not.objectContaining({ ttl: expect.anything() })]);
    expect(await cleanupItemsOf(tenant)).toEqual([]);
  });

  it('leaves no chunk when it is deleted, though the first response of the delete was lost', async () => {
    const tenant = newTenant();
    const key = await created(tenant, large('a'));
    const losing = withLostResponse(connect(), 'DeleteItemCommand');
    expect(await repositoryOn(losing).delete(key)).toBe(true);
    expect(await chunksOf(tenant)).toEqual([]);
    expect(await notifications.delete(key)).toBe(false);
  });

  it.each([
    ['deleted', async () => true],
    ['replaced and deleted', (key: { tenant: string; id: string }) => replaced(key, large('b'))],
  ])('does not come back when the first copy of its create arrives after it was %s', async (_, change) => {
    const tenant = newTenant();
    const late: LateRequest[] = [];
    const key = { tenant, id: await repositoryOn(slowDatabase(late)).create(tenant, large('a')) };
    expect(await change(key)).toBe(true);
    expect(await notifications.delete(key)).toBe(true);
    for (const { send } of late) await send();
    expect(await notifications.get(key)).toBeUndefined();
    expect(await notifications.targets([key]).find(key)).toBeUndefined();
    expect((await Array.fromAsync(notifications.list(tenant, null, 10))).map(({ id }) => id)).not.toContain(key.id);
    expect(await orphansOf(tenant)).toHaveLength(1);
    expect(await notifications.delete(key)).toBe(false);
    await writeLater(tenant, 2 * HOUR_MS);
    expect(await chunksOf(tenant)).toEqual([]);
  });

  it('leaves no item behind its delete where no request was repeated', async () => {
    const tenant = newTenant();
    await notifications.delete(await created(tenant, small('a')));
    expect(await stored(`notification#${tenant}`)).toEqual([]);
  });
});

describe('a writer that is killed on the way', () => {
  const requests = Array.from({ length: 8 }, (_, index) => index + 1);
  const fates: KilledRequest[] = ['lost', 'applied', 'delayed'];
  const crashes = requests.flatMap((number) => fates.map((fate) => [number, fate] as const));

  it.each(crashes)('leaves nothing for good: create, request %i %s', async (number, fate) => {
    const tenant = newTenant();
    const late: LateRequest[] = [];
    await repositoryOn(withKilledWorker(connect(), number, fate, late))
      .create(tenant, large('a'))
      .catch(() => undefined);
    for (const { send } of late) await send();
    await writeLater(tenant, 2 * HOUR_MS);
    expect(await orphansOf(tenant)).toEqual([]);
    expect(await cleanupItemsOf(tenant)).toEqual([]);
  });

  it.each(crashes)('leaves the old or the new one, and nothing else: replace, request %i %s', async (number, fate) => {
    const tenant = newTenant();
    const key = await created(tenant, large('a'));
    const late: LateRequest[] = [];
    const dying = repositoryOn(withKilledWorker(connect(), number, fate, late));
    await replaced(key, large('b'), dying).catch(() => undefined);
    for (const { send } of late) await send();
    await writeLater(tenant, 2 * HOUR_MS);
    const { id: _, ...found } = (await notifications.get(key))?.record ?? { id: '' };
    expect([large('a'), large('b')]).toContainEqual(found);
    expect(await orphansOf(tenant)).toEqual([]);
    expect(await cleanupItemsOf(tenant)).toEqual([]);
  });

  it.each(crashes)('leaves the notification whole or nothing of it: delete, request %i %s', async (number, fate) => {
    const tenant = newTenant();
    const key = await created(tenant, large('a'));
    const late: LateRequest[] = [];
    await repositoryOn(withKilledWorker(connect(), number, fate, late))
      .delete(key)
      .catch(() => undefined);
    for (const { send } of late) await send();
    await writeLater(tenant, 2 * HOUR_MS);
    expect([undefined, { id: key.id, ...large('a') }]).toContainEqual((await notifications.get(key))?.record);
    expect(await orphansOf(tenant)).toEqual([]);
    expect(await cleanupItemsOf(tenant)).toEqual([]);
  });
});

describe('the cleanup beside a write', () => {
  /** A tenant with a chunk that no target points to. */
  const withOrphan = async () => {
    const tenant = newTenant();
    const broken = withThrottling(connect({ maxAttempts: 1 }), 'PutItemCommand', 1, 1);
    await expect(repositoryOn(broken).create(tenant, large('a'))).rejects.toThrow();
    expect(await orphansOf(tenant)).toHaveLength(1);
    return tenant;
  };

  it.each([
    ['create', (tenant: string) => notifications.create(tenant, small('b'))],
    ['update', async (tenant: string) => replaced(await created(tenant, small('a')), small('b'))],
    ['delete', async (tenant: string) => notifications.delete(await created(tenant, small('a')))],
  ])('happens at each kind of write: %s', async (_, write) => {
    const tenant = await withOrphan();
    now += HOUR_MS + 1;
    for (let time = 0; time < 20 && (await cleanupItemsOf(tenant)).length > 0; time++) await write(tenant);
    expect(await chunksOf(tenant)).toEqual([]);
    expect(await cleanupItemsOf(tenant)).toEqual([]);
  });

  it('leaves alone what is younger than an hour, since its writer may still be at work', async () => {
    const tenant = await withOrphan();
    now += HOUR_MS - 1_000;
    await notifications.create(tenant, small('b'));
    expect(await orphansOf(tenant)).toHaveLength(1);
  });

  it('leaves alone what a target points to', async () => {
    const tenant = newTenant();
    const dying = withThrottling(connect({ maxAttempts: 1 }), 'DeleteItemCommand');
    const id = await repositoryOn(dying).create(tenant, large('a'));
    expect(await cleanupItemsOf(tenant)).toHaveLength(1);
    await writeLater(tenant, 2 * HOUR_MS);
    expect(await cleanupItemsOf(tenant)).toEqual([]);
    expect((await notifications.get({ tenant, id }))?.record).toEqual({ id, ...large('a') });
  });

  it('never reaches another tenant', async () => {
    const tenant = await withOrphan();
    await writeLater(`${tenant}0`, 2 * HOUR_MS);
    expect(await orphansOf(tenant)).toHaveLength(1);
  });

  it('costs one small read where there is nothing to clean up', async () => {
    const database = connect();
    const counts = countRequests(database);
    await repositoryOn(database).create(newTenant(), small('a'));
    expect(counts).toEqual({ PutItemCommand: 1, QueryCommand: 1 });
  });

  it.each(['QueryCommand', 'GetItemCommand', 'BatchWriteItemCommand', 'DeleteItemCommand'])(
    'does not fail the write where it fails itself, is countRequests, and is done by the next write: %s',
    async (command) => {
      const tenant = await withOrphan();
      now += 2 * HOUR_MS;
      const id = await repositoryOn(withThrottling(connect({ maxAttempts: 1 }), command)).create(tenant, small('b'));
      expect(metrics()).toEqual([expect.objectContaining({ chunk_cleanup_failures: 1 })]);
      expect(await notifications.get({ tenant, id })).toBeDefined();
      await writeLater(tenant, 0);
      expect(await orphansOf(tenant)).toEqual([]);
      expect(await cleanupItemsOf(tenant)).toEqual([]);
    },
  );

  /** Cleanup items from before the orphan's, none of which can be read. */
  const putUnreadableItems = async (tenant: string, amount: number) => {
    for (let number = 0; number < amount; number++) {
      const Item = { pk: `cleanup#${tenant}`, sk: ulid(now - HOUR_MS + number), format: 'of another version' };
      await client.send(new PutCommand({ TableName: 'notifications', Item }));
    }
  };

  it.each([1, 10, 25])('skips items that it cannot read, counts them, and does the others: %i', async (amount) => {
    const tenant = await withOrphan();
    await putUnreadableItems(tenant, amount);
    now += 2 * HOUR_MS;
    for (let write = 0; write < 20 && (await cleanupItemsOf(tenant)).length > amount; write++) {
      await notifications.create(tenant, small('b'));
    }
    expect(await chunksOf(tenant)).toEqual([]);
    expect(await cleanupItemsOf(tenant)).toHaveLength(amount);
    expect(metrics()).toContainEqual(expect.objectContaining({ skipped_cleanup_items: amount }));
  });

  it('skips items of notifications whose version it cannot read', async () => {
    const tenant = await withOrphan();
    const [orphan] = await orphansOf(tenant);
    const [last] = await cleanupItemsOf(tenant);
    for (let number = 0; number < 10; number++) {
      const key = await created(tenant, large('c'));
      await replaced(key, large('d'));
      await client.send(
        new UpdateCommand({
          TableName: 'notifications',
          Key: { pk: `notification#${tenant}`, sk: key.id },
          UpdateExpression: 'SET version = :version',
          ExpressionAttributeValues: { ':version': 2 },
        }),
      );
    }
    // The orphan's item comes behind the others.
    await client.send(new PutCommand({ TableName: 'notifications', Item: { ...last, sk: ulid(now + 1_000) } }));
    await client.send(new DeleteCommand({ TableName: 'notifications', Key: { pk: last?.pk, sk: last?.sk } }));
    now += 2 * HOUR_MS;
    for (let write = 0; write < 20 && (await cleanupItemsOf(tenant)).length > 10; write++) {
      await notifications.create(tenant, small('b'));
    }
    expect(await chunksOf(tenant)).not.toContain(orphan);
    expect(await cleanupItemsOf(tenant)).toHaveLength(10);
  });

  it('reads at most 100 items at a write, however many it skips', async () => {
    const tenant = newTenant();
    await putUnreadableItems(tenant, 120);
    now += 2 * HOUR_MS;
    const database = connect();
    const counts = countRequests(database);
    await repositoryOn(database).create(tenant, small('b'));
    expect(counts.QueryCommand).toBeLessThanOrEqual(10);
    expect(await cleanupItemsOf(tenant)).toHaveLength(120);
  });

  it('does the other items where one fails', async () => {
    const tenant = await withOrphan();
    const [failed] = await cleanupItemsOf(tenant);
    const broken = withThrottling(connect({ maxAttempts: 1 }), 'PutItemCommand', 1, 1);
    await expect(repositoryOn(broken).create(tenant, large('c'))).rejects.toThrow();
    now += 2 * HOUR_MS;
    const failing = connect({ maxAttempts: 1 });
    failing.middlewareStack.add(
      (next, { commandName }) =>
        (args) => {
          const isFailed = JSON.stringify(args.input).includes(String(failed?.notification_id));
          if (commandName === 'BatchWriteItemCommand' && isFailed) throw new Error('refused');
          return next(args);
        },
      { step: 'initialize' },
    );
    for (let write = 0; write < 20 && (await cleanupItemsOf(tenant)).length > 1; write++) {
      await repositoryOn(failing).create(tenant, small('b'));
    }
    expect(metrics()).toContainEqual(expect.objectContaining({ chunk_cleanup_failures: 1 }));
    expect(await orphansOf(tenant)).toEqual([expect.stringContaining(String(failed?.notification_id))]);
    expect(await cleanupItemsOf(tenant)).toEqual([failed]);
  });

  it('does not hold up the write where DynamoDB does not answer it', async () => {
    const tenant = await withOrphan();
    now += 2 * HOUR_MS;
    const { promise: never } = Promise.withResolvers<void>();
    const silent = withInterruption(connect(), 'QueryCommand', () => never);
    const id = await repositoryOn(silent).create(tenant, small('b'));
    expect(await notifications.get({ tenant, id })).toBeDefined();
    expect(metrics()).toEqual([expect.objectContaining({ chunk_cleanup_failures: 1 })]);
  });
});

describe('whatever is written, killed, repeated and delayed', () => {
  const content = fc.record({ isLarge: fc.boolean(), letter: fc.constantFrom('a', 'b', 'c') });
  const step = fc.record({
    kind: fc.constantFrom('create', 'replace', 'delete'),
    which: fc.nat({ max: 2 }),
    content,
    kill: fc.option(
      fc.record({
        number: fc.integer({ min: 1, max: 9 }),
        fate: fc.constantFrom<KilledRequest>('lost', 'applied', 'delayed'),
      }),
    ),
    /** Whether the first copy of each write of this step is delayed. */
    isSlow: fc.boolean(),
    /** Whether the delayed copies of earlier steps arrive before this step. */
    copiesArrive: fc.boolean(),
  });

  it('leaves each notification as its last write left it, and no chunk that no target points to', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 7 }), async (steps) => {
        const tenant = newTenant();
        const late: LateRequest[] = [];
        /** For each notification the contents that it may have: several after a write that failed. */
        const model = new Map<string, (NotificationAttributes | undefined)[]>();

        for (const { kind, which, content, kill, isSlow, copiesArrive } of steps) {
          if (copiesArrive) for (const { send } of late.splice(0)) await send();
          const attributes = content.isLarge ? large(content.letter) : small(content.letter);
          const id = [...model.keys()][which];
          const key = { tenant, id: id ?? '' };
          const database = isSlow ? slowDatabase(late) : connect();
          const worker = repositoryOn(kill ? withKilledWorker(database, kill.number, kill.fate, late) : database);
          if (kind === 'create') {
            const made = await worker.create(tenant, attributes).catch(() => undefined);
            if (made !== undefined) model.set(made, [attributes]);
          } else if (id !== undefined) {
            const next = kind === 'replace' ? attributes : undefined;
            const done = await (kind === 'replace' ? replaced(key, attributes, worker) : worker.delete(key)).catch(
              () => 'failed',
            );
            if (done === true) model.set(id, [next]);
            else if (done === 'failed') model.set(id, [...(model.get(id) ?? []), next]);
            else model.set(id, [undefined]);
          }
        }
        for (const { send } of late) await send();

        await writeLater(tenant, 2 * HOUR_MS);
        for (const [id, possible] of model) {
          const found = (await notifications.get({ tenant, id }))?.record;
          expect(possible.map((attributes) => attributes && { id, ...attributes })).toContainEqual(found);
        }
        expect(await orphansOf(tenant)).toEqual([]);
        expect(await cleanupItemsOf(tenant)).toEqual([]);
      }),
      { numRuns: 40 },
    );
  }, 180_000);

  it('leaves the same when several write one notification at the same time', async () => {
    const write = fc.record({ isDelete: fc.boolean(), content, kill: fc.option(fc.integer({ min: 1, max: 8 })) });
    await fc.assert(
      fc.asyncProperty(fc.array(write, { minLength: 2, maxLength: 4 }), fc.scheduler(), async (writes, scheduler) => {
        const tenant = newTenant();
        const key = await created(tenant, large('z'));
        const inTurn = (database: typeof client) => {
          database.middlewareStack.add(
            (next, { commandName }) =>
              async (args) => {
                await scheduler.schedule(Promise.resolve(), commandName);
                return next(args);
              },
            { step: 'build' },
          );
          return database;
        };
        const results = await scheduler.waitFor(
          Promise.allSettled(
            writes.map(async ({ isDelete, content, kill }) => {
              const database = inTurn(kill === null ? connect() : withKilledWorker(connect(), kill, 'applied', []));
              const repository = repositoryOn(database);
              if (isDelete) return (await repository.delete(key)) ? 'deleted' : 'nothing';
              const found = await repository.get(key);
              return (
                found &&
                repository.replace(key, found.stored, content.isLarge ? large(content.letter) : small(content.letter))
              );
            }),
          ),
        );
        await writeLater(tenant, 2 * HOUR_MS);
        const found = await notifications.get(key);
        if (results.some((one) => one.status === 'fulfilled' && one.value === 'deleted')) expect(found).toBeUndefined();
        expect(await orphansOf(tenant)).toEqual([]);
        expect(await cleanupItemsOf(tenant)).toEqual([]);
      }),
      { numRuns: 25 },
    );
  }, 180_000);
});
