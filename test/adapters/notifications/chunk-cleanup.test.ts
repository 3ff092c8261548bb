import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { logger } from '../../../shared/adapters/logger.ts';
import type { NotificationKey } from '../../../shared/domain/notification.ts';
import { audit } from '../../support/audit.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { countRequests, withInterruption, withRejections, withThrottling } from '../../support/dynamodb-faults.ts';
import { createChunkFixtures, HOUR_MS, large, small } from '../../support/notification-chunks.ts';
import { recordMetrics } from '../../support/printed-metrics.ts';

const { client, connect } = useDatabase();
const WRITE = 'TransactWriteItemsCommand';
let metrics: ReturnType<typeof recordMetrics>;
beforeEach(() => {
  vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
  metrics = recordMetrics();
});
afterEach(() => {
  vi.restoreAllMocks();
});

const {
  newTenant,
  advance,
  repositoryOn,
  notifications,
  chunksOf,
  cleanupItemsOf,
  orphansOf,
  create,
  replace,
  writeLater,
} = createChunkFixtures({ client });

describe('the cleanup during a write with chunks', () => {
  /** Creates a tenant with a chunk that no target points to. */
  const withOrphan = async () => {
    const tenant = newTenant();
    const broken = withRejections(connect(), WRITE);
    await expect(repositoryOn(broken).create(tenant, large('a'), audit)).rejects.toThrow();
    expect(await orphansOf(tenant)).toHaveLength(1);
    return tenant;
  };

  it.each([
    ['create', (key: NotificationKey) => notifications.create(key.tenant, large('b'), audit)],
    ['update', (key: NotificationKey) => replace(key, small('b'))],
    ['delete', (key: NotificationKey) => notifications.delete(key, audit)],
  ])('runs with each kind of write: %s', async (_, write) => {
    const tenant = await withOrphan();
    const key = await create(tenant, large('c'));
    advance(HOUR_MS + 1);
    await write(key);
    expect(await orphansOf(tenant)).toEqual([]);
  });

  it('keeps chunks younger than an hour, since their writer may still be active', async () => {
    const tenant = await withOrphan();
    advance(HOUR_MS - 1_000);
    await notifications.create(tenant, large('b'), audit);
    expect(await orphansOf(tenant)).toHaveLength(1);
  });

  it('keeps chunks that a target points to', async () => {
    const tenant = newTenant();
    const failing = withThrottling(connect({ maxAttempts: 1 }), 'DeleteItemCommand');
    const id = await repositoryOn(failing).create(tenant, large('a'), audit);
    expect(await cleanupItemsOf(tenant)).toHaveLength(1);
    await writeLater(tenant, 2 * HOUR_MS);
    expect(await cleanupItemsOf(tenant)).toEqual([]);
    expect((await notifications.get({ tenant, id }))?.record).toEqual({ id, ...large('a') });
  });

  it('keeps the chunks of other tenants', async () => {
    const tenant = await withOrphan();
    await writeLater(`${tenant}0`, 2 * HOUR_MS);
    expect(await orphansOf(tenant)).toHaveLength(1);
  });

  it('costs a write without chunks no request', async () => {
    const database = connect();
    const counts = countRequests(database);
    await repositoryOn(database).create(newTenant(), small('a'), audit);
    expect(counts).toEqual({ TransactWriteItemsCommand: 1 });
  });

  it.each(['QueryCommand', 'GetItemCommand', 'DeleteItemCommand'])(
    'counts its failure without failing the write, and runs again with the next write: %s',
    async (command) => {
      const tenant = await withOrphan();
      advance(2 * HOUR_MS);
      const id = await repositoryOn(withThrottling(connect({ maxAttempts: 1 }), command)).create(
        tenant,
        large('b'),
        audit,
      );
      expect(metrics()).toEqual([expect.objectContaining({ chunk_cleanup_failures: 1 })]);
      expect(await notifications.get({ tenant, id })).toBeDefined();
      await writeLater(tenant, 2 * HOUR_MS);
      expect(await orphansOf(tenant)).toEqual([]);
      expect(await cleanupItemsOf(tenant)).toEqual([]);
    },
  );

  it('deletes nothing of a notification whose version is not readable, and counts the failure', async () => {
    const key = await create(newTenant(), large('c'));
    await replace(key, large('d'));
    await client.send(
      new UpdateCommand({
        TableName: 'notifications',
        Key: { pk: `notification#${key.tenant}`, sk: key.id },
        UpdateExpression: 'SET version = :version',
        ExpressionAttributeValues: { ':version': 2 },
      }),
    );
    const before = await chunksOf(key.tenant);
    advance(2 * HOUR_MS);
    await notifications.create(key.tenant, large('b'), audit);
    expect(await chunksOf(key.tenant)).toEqual(expect.arrayContaining(before));
    expect(metrics()).toContainEqual(expect.objectContaining({ chunk_cleanup_failures: 1 }));
  });

  it('processes the other items if one fails', async () => {
    const tenant = await withOrphan();
    const [failed] = await cleanupItemsOf(tenant);
    const broken = withRejections(connect(), WRITE);
    await expect(repositoryOn(broken).create(tenant, large('c'), audit)).rejects.toThrow();
    advance(2 * HOUR_MS);
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
      await repositoryOn(failing).create(tenant, large('b'), audit);
    }
    expect(metrics()).toContainEqual(expect.objectContaining({ chunk_cleanup_failures: 1 }));
    expect(await orphansOf(tenant)).toEqual([expect.stringContaining(String(failed?.notification_id))]);
    expect(await cleanupItemsOf(tenant)).toEqual([failed]);
  });

  it('does not block the write if DynamoDB does not respond', async () => {
    const tenant = await withOrphan();
    advance(2 * HOUR_MS);
    const { promise: never } = Promise.withResolvers<void>();
    const unresponsive = withInterruption(connect(), 'QueryCommand', () => never);
    const id = await repositoryOn(unresponsive).create(tenant, large('b'), audit);
    expect(await notifications.get({ tenant, id })).toBeDefined();
    expect(metrics()).toEqual([expect.objectContaining({ chunk_cleanup_failures: 1 })]);
  });
});
