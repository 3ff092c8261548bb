import { GetCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import { countUpTo, createDailyCounters } from '../../../shared/adapters/accounts/daily-counter.ts';
import { audit } from '../../support/audit.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { countRequests, withConflicts, withLostResponse } from '../../support/dynamodb-faults.ts';
import { testClock } from '../../support/test-clock.ts';

const { client, connect, newTenant } = useDatabase();

const START = Date.UTC(2026, 0, 1, 23, 59, 59);

const setUp = (database = client) => {
  const { clock, advance } = testClock(START);
  return { advance, counters: createDailyCounters(database, 'accounts', clock, () => database) };
};

describe('a daily counter', () => {
  it('never exceeds the limit, and may count twice, if the response is lost and the SDK repeats the write', async () => {
    const tenant = newTenant();
    const repeating = () => setUp(withLostResponse(connect({ maxAttempts: 2 }), 'UpdateItemCommand')).counters;
    expect(await repeating().count('email', tenant, 2, 5)).toBe(true);
    expect((await setUp().counters.used(['email'], tenant)).used('email')).toBe(4);
    expect(await repeating().count('email', tenant, 1, 5)).toBe(false);
    expect((await setUp().counters.used(['email'], tenant)).used('email')).toBe(5);
  });

  it('adds an amount completely or not at all, and restarts at 0 on the next UTC day', async () => {
    const { counters, advance } = setUp();
    const tenant = newTenant();
    expect(await counters.count('email', tenant, 3, 5)).toBe(true);
    expect(await counters.count('email', tenant, 3, 5)).toBe(false);
    expect(await counters.count('email', tenant, 2, 5)).toBe(true);
    expect(await counters.count('email', tenant, 6, 5)).toBe(false);
    advance(1);
    expect(await counters.count('email', tenant, 5, 5)).toBe(true);
  });

  it('gives back what was counted, to the day on which it was counted, and never more', async () => {
    const { counters, advance } = setUp();
    const tenant = newTenant();
    await counters.count('email', tenant, 3, 5, START);
    advance(1);
    await counters.count('email', tenant, 1, 5);
    await counters.giveBack('email', tenant, 2, START);
    expect((await setUp().counters.used(['email'], tenant)).used('email')).toBe(1);
    expect((await counters.used(['email'], tenant)).used('email')).toBe(1);
    await counters.giveBack('email', tenant, 2, START);
    expect((await setUp().counters.used(['email'], tenant)).used('email')).toBe(1);
  });

  it('counts beside a transaction that counts, too', async () => {
    const tenant = newTenant();
    const { counters } = setUp(withConflicts(connect({ maxAttempts: 1 }), 'UpdateItemCommand', 2));
    expect(await counters.count('redeliveries', tenant, 1, 1)).toBe(true);
    expect(await counters.count('redeliveries', tenant, 1, 1)).toBe(false);
  });

  it('expires after the end of its day', async () => {
    const tenant = newTenant();
    await setUp().counters.count('tests', tenant, 1, 1);
    const { Item } = await client.send(
      new GetCommand({ TableName: 'accounts', Key: { pk: `tests#2026-01-01#${tenant}` } }),
    );
    expect(Item?.ttl).toBeGreaterThan(Date.UTC(2026, 0, 2) / 1_000);
  });

  it('can be read together with others, which are 0 if nothing was counted', async () => {
    const { counters, advance } = setUp();
    const tenant = newTenant();
    await counters.count('redeliveries', tenant, 3, 5);
    await counters.count('tests', newTenant(), 1, 5);
    const { used, dayEndsAtMs } = await counters.used(['tests', 'redeliveries'], tenant);
    expect([used('tests'), used('redeliveries'), dayEndsAtMs]).toEqual([0, 3, Date.UTC(2026, 0, 2)]);
    advance(1);
    const next = await counters.used(['redeliveries'], tenant);
    expect([next.used('redeliveries'), next.dayEndsAtMs]).toEqual([0, Date.UTC(2026, 0, 3)]);
  });
});

describe('a count with an audit entry', () => {
  const entryOf = (tenant: string) => audit({ action: 'redeliver', target_id: tenant });
  const entries = async (tenant: string) => {
    const { Items = [] } = await client.send(new ScanCommand({ TableName: 'audits' }));
    return Items.filter(({ target_id }) => target_id === tenant).length;
  };
  const countWith = async (tenant: string, amount: number, database = client) =>
    setUp(database).counters.countWith(entryOf(tenant), 'redeliveries', tenant, amount, 5);
  const used = async (tenant: string) => (await setUp().counters.used(['redeliveries'], tenant)).used('redeliveries');

  it('writes both, or neither above the limit', async () => {
    const tenant = newTenant();
    expect([await countWith(tenant, 6), await countWith(tenant, 3), await countWith(tenant, 3)]).toEqual([
      false,
      true,
      false,
    ]);
    expect([await used(tenant), await entries(tenant)]).toEqual([3, 1]);
  });
});

describe('a count up to the limit', () => {
  const countUpToLimit = ({ counters }: ReturnType<typeof setUp>, tenant: string, amount: number, limit: number) =>
    countUpTo(amount, (step) => counters.count('redeliveries', tenant, step, limit));

  it('adds all of it with one write if the limit permits', async () => {
    const database = connect();
    const counts = countRequests(database);
    expect(await countUpToLimit(setUp(database), newTenant(), 1_000, 1_000)).toBe(1_000);
    expect(counts).toEqual({ UpdateItemCommand: 1 });
    expect(await countUpToLimit(setUp(database), newTenant(), 0, 1_000)).toBe(0);
    expect(counts).toEqual({ UpdateItemCommand: 1 });
  });

  it('adds exactly what is left, and then nothing', async () => {
    const world = setUp();
    for (const [used, amount, limit] of [
      [0, 100, 99],
      [7, 100, 10],
      [1, 1_000, 1_000],
      [5, 3, 5],
      [3, 7, 9],
    ] as const) {
      const tenant = newTenant();
      if (used > 0) await world.counters.count('redeliveries', tenant, used, limit);
      expect(await countUpToLimit(world, tenant, amount, limit)).toBe(Math.min(amount, limit - used));
      const left = limit - used - Math.min(amount, limit - used);
      expect(await countUpToLimit(world, tenant, 1_000, limit)).toBe(left);
    }
  });
});
