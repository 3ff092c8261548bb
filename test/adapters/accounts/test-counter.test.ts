import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import { createTestCounter, type StartedTest, type TestLease } from '../../../shared/adapters/accounts/test-counter.ts';
import { createCounters, dailyCounter } from '../../../shared/adapters/dynamodb/counters.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { countRequests, withLostResponse } from '../../support/dynamodb-faults.ts';
import { testClock } from '../../support/test-clock.ts';

const { client, connect, newTenant } = useDatabase();

const START = Date.UTC(2026, 0, 1, 12);
const setUp = (database = client) => {
  const tenant = newTenant();
  const { clock, advance } = testClock(START);
  const counter = createTestCounter(database, 'accounts', clock);
  const start = (limit = 200): Promise<StartedTest> => counter.start(tenant, limit);
  const startAll = async (count: number): Promise<TestLease[]> => {
    const started = await Promise.all(Array.from({ length: count }, () => start()));
    return started.flatMap((each) => (each.kind === 'started' ? [each.lease] : []));
  };
  const item = async () => {
    const { Item } = await client.send(
      new GetCommand({ TableName: 'accounts', Key: { pk: `tests#2026-01-01#${tenant}` } }),
    );
    return Item;
  };
  return {
    tenant,
    start,
    startAll,
    item,
    end: counter.end,
    used: async () => {
      const tests = dailyCounter('tests', tenant, START);
      return (await createCounters(client, 'accounts').read([tests]))(tests).used;
    },
    advance,
  };
};

describe('a tenant', () => {
  it('runs at most 20 tests at a time, and another one when one of them has ended', async () => {
    const { start, startAll, end, used } = setUp();
    const leases = await startAll(30);
    expect(leases).toHaveLength(20);
    expect(await start()).toEqual({ kind: 'too_many_at_once' });
    for (const lease of leases.slice(0, 1)) await end(lease);
    expect(await startAll(2)).toHaveLength(1);
    expect(await used()).toBe(21);
  });

  it('runs tests again 30 s after functions crashed, and no more than 20', async () => {
    const { start, startAll, advance } = setUp();
    await startAll(15);
    advance(10);
    expect(await startAll(10)).toHaveLength(5);
    advance(19.999);
    expect(await start()).toEqual({ kind: 'too_many_at_once' });
    advance(0.001);
    expect(await start()).toMatchObject({ kind: 'started' });
    expect(await startAll(20)).toHaveLength(14);
    expect(await start()).toEqual({ kind: 'too_many_at_once' });
  });

  it('has reached its daily limit whether or not tests run', async () => {
    const { start, startAll, end, used } = setUp();
    const [lease] = await startAll(1);
    expect(await start(1)).toEqual({ kind: 'daily_limit' });
    if (lease) await end(lease);
    expect(await start(1)).toEqual({ kind: 'daily_limit' });
    expect(await start(0)).toEqual({ kind: 'daily_limit' });
    expect(await used()).toBe(1);
  });

  it('does not run a test twice if the response is lost and the SDK repeats the request', async () => {
    const { startAll, item } = setUp(withLostResponse(connect({ maxAttempts: 2 }), 'UpdateItemCommand'));
    expect(await startAll(1)).toHaveLength(1);
    expect((await item())?.leases).toHaveLength(1);
  });
});

describe('a test', () => {
  it('costs two writes of one item, which expires after its day', async () => {
    const database = connect();
    const counts = countRequests(database);
    const { startAll, end, item } = setUp(database);
    for (const lease of await startAll(1)) await end(lease);
    expect(counts).toEqual({ UpdateItemCommand: 2 });
    const stored = await item();
    expect(Object.keys(stored ?? {}).toSorted()).toEqual(['pk', 'ttl', 'used']);
    expect(stored?.ttl).toBeGreaterThan(Date.UTC(2026, 0, 2) / 1_000);
  });

  it('can end twice, and creates nothing if its counter was deleted', async () => {
    const { startAll, end, item } = setUp();
    const { item: otherItem, tenant } = setUp();
    for (const lease of await startAll(1)) {
      await end(lease);
      await end(lease);
      await end({ ...lease, tenant });
    }
    expect((await item())?.used).toBe(1);
    expect(await otherItem()).toBeUndefined();
  });
});
