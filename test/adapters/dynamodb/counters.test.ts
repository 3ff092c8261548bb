import { GetCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import { createCounters, dailyCounter, takeUpTo } from '../../../shared/adapters/dynamodb/counters.ts';
import { audit } from '../../support/audit.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { countRequests, withConflicts, withLostResponse } from '../../support/dynamodb-faults.ts';

const { client, connect, newTenant } = useDatabase();

const START = Date.UTC(2026, 0, 1, 23, 59, 59);
const NEXT_DAY = START + 1_000;

const countersOf = (database = client) => createCounters(database, 'accounts', () => database);
const counters = countersOf();
const repeatingCounters = () => countersOf(withLostResponse(connect({ maxAttempts: 2 }), 'UpdateItemCommand'));

const newCounter = () => dailyCounter('email', newTenant(), START);
const used = async (counter: ReturnType<typeof newCounter>) => (await counters.read([counter]))(counter).used;

describe('taking an amount', () => {
  it('never exceeds the limit, and may count twice, if the response is lost and the SDK repeats the write', async () => {
    const counter = newCounter();
    expect(await repeatingCounters().take(counter, { amount: 2, limit: 5 })).toBe(true);
    expect(await used(counter)).toBe(4);
    expect(await repeatingCounters().take(counter, { amount: 1, limit: 5 })).toBe(false);
    expect(await used(counter)).toBe(5);
  });

  it('takes all of it or nothing, and starts again at 0 for another tenant and on the next UTC day', async () => {
    const [tenant, other] = [newTenant(), newTenant()];
    const today = dailyCounter('email', tenant, START);
    const results = [];
    for (const amount of [3, 3, 2, 6]) results.push(await counters.take(today, { amount, limit: 5 }));
    expect(results).toEqual([true, false, true, false]);
    expect(await counters.take(dailyCounter('email', tenant, NEXT_DAY), { amount: 5, limit: 5 })).toBe(true);
    expect(await counters.take(dailyCounter('email', other, START), { amount: 5, limit: 5 })).toBe(true);
  });

  it('can be given back, and never more than was taken', async () => {
    const counter = newCounter();
    await counters.take(counter, { amount: 3, limit: 5 });
    for (const _ of [1, 2]) await counters.giveBack(counter, 2);
    expect(await used(counter)).toBe(1);
  });

  it('is given back once if the response is lost, because the SDK does not repeat it', async () => {
    const counter = newCounter();
    await counters.take(counter, { amount: 4, limit: 5 });
    const losing = createCounters(client, 'accounts', (options) =>
      withLostResponse(connect(options), 'UpdateItemCommand'),
    );
    await expect(losing.giveBack(counter, 2)).rejects.toThrow('the socket hung up');
    expect(await used(counter)).toBe(2);
  });

  it('is possible beside a transaction that takes, too', async () => {
    const counter = newCounter();
    const conflicting = countersOf(withConflicts(connect({ maxAttempts: 1 }), 'UpdateItemCommand', 2));
    expect(await conflicting.take(counter, { amount: 1, limit: 1 })).toBe(true);
    expect(await conflicting.take(counter, { amount: 1, limit: 1 })).toBe(false);
  });

  it('writes the audit entry, too, or neither above the limit', async () => {
    const tenant = newTenant();
    const counter = dailyCounter('redeliveries', tenant, START);
    const results = [];
    for (const amount of [6, 3, 3]) {
      results.push(
        await counters.take(counter, { amount, limit: 5, entry: audit({ action: 'redeliver', target_id: tenant }) }),
      );
    }
    expect(results).toEqual([false, true, false]);
    const { Items = [] } = await client.send(new ScanCommand({ TableName: 'audits' }));
    expect(Items.filter(({ target_id }) => target_id === tenant)).toHaveLength(1);
    expect(await used(counter)).toBe(3);
  });
});

describe('taking an ID once', () => {
  it('accepts as many as the limit, and a repeated one again', async () => {
    const counter = newCounter();
    const results = [];
    for (const id of ['a', 'a', 'b', 'c', 'a', 'b']) results.push(await counters.takeOnce(counter, id, 2));
    expect(results).toEqual([true, true, true, false, true, true]);
    expect((await counters.read([counter]))(counter).ids).toEqual(new Set(['a', 'b']));
  });

  it('accepts the last one if the response to the write is lost and the SDK repeats it', async () => {
    const counter = newCounter();
    expect(await repeatingCounters().takeOnce(counter, 'a', 1)).toBe(true);
    expect(await counters.takeOnce(counter, 'b', 1)).toBe(false);
  });
});

it('the counters of a day expire after its end', async () => {
  const { key, ttl } = newCounter();
  await counters.take({ key, ttl }, { amount: 1, limit: 1 });
  const { Item } = await client.send(new GetCommand({ TableName: 'accounts', Key: key }));
  expect(Item?.ttl).toBe(ttl);
  expect(ttl).toBeGreaterThan(Date.UTC(2026, 0, 2) / 1_000);
});

it('counters are read together, and have counted nothing at first', async () => {
  const [first, second] = [newCounter(), newCounter()];
  await counters.take(first, { amount: 3, limit: 5 });
  const counted = await counters.read([first, second]);
  expect([counted(first), counted(second)]).toEqual([
    { used: 3, ids: new Set() },
    { used: 0, ids: new Set() },
  ]);
});

describe('taking up to the limit', () => {
  const takeUpToLimit = (counter: ReturnType<typeof newCounter>, amount: number, limit: number, database = client) =>
    takeUpTo(amount, (step) => countersOf(database).take(counter, { amount: step, limit }));

  it('takes all of it with one write if the limit permits', async () => {
    const database = connect();
    const requests = countRequests(database);
    expect(await takeUpToLimit(newCounter(), 1_000, 1_000, database)).toBe(1_000);
    expect(await takeUpToLimit(newCounter(), 0, 1_000, database)).toBe(0);
    expect(requests).toEqual({ UpdateItemCommand: 1 });
  });

  it.each([
    [0, 100, 99],
    [7, 100, 10],
    [1, 1_000, 1_000],
    [5, 3, 5],
    [3, 7, 9],
  ])('takes what is left, and then nothing: %s used, %s of %s', async (already, amount, limit) => {
    const counter = newCounter();
    if (already > 0) await counters.take(counter, { amount: already, limit });
    const left = limit - already;
    expect(await takeUpToLimit(counter, amount, limit)).toBe(Math.min(amount, left));
    expect(await takeUpToLimit(counter, 1_000, limit)).toBe(left - Math.min(amount, left));
  });
});
