import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { batchGet, batchWrite } from '../../shared/adapters/dynamodb-batches.ts';
import { startDatabase } from '../support/dynamodb.ts';
import { counted, partlyDone, throttled } from '../support/dynamodb-faults.ts';

const pauses = vi.hoisted((): number[] => []);
vi.mock('node:timers/promises', () => ({
  setTimeout: async (wait: number) => {
    pauses.push(wait);
  },
}));
beforeEach(() => {
  pauses.length = 0;
});

const { client, connect, stop } = await startDatabase();
afterAll(stop);

const items = Array.from({ length: 230 }, (_, number) => ({ pk: `item${number}`, number }));
const keys = items.map(({ pk }) => ({ pk }));
const writes = items.map((Item) => ({ PutRequest: { Item } }));
await batchWrite(client, 'tokens', writes);

const numbers = (found: Record<string, unknown>[]) =>
  found.map(({ number }) => Number(number)).toSorted((a, b) => a - b);

describe('reading many items', () => {
  it('gets them all, a hundred at a time', async () => {
    const database = connect();
    const counts = counted(database);
    expect(numbers(await batchGet(database, 'tokens', keys))).toEqual(items.map(({ number }) => number));
    expect(counts).toEqual({ BatchGetItemCommand: 3 });
  });

  it('gets those that exist, without asking for nothing', async () => {
    const database = connect();
    const counts = counted(database);
    expect(await batchGet(database, 'tokens', [{ pk: 'item1' }, { pk: 'nobody' }])).toEqual([items[1]]);
    expect(await batchGet(database, 'tokens', [])).toEqual([]);
    expect(counts).toEqual({ BatchGetItemCommand: 1 });
  });

  it('asks again for what was left open, until nothing is', async () => {
    const found = await batchGet(partlyDone(connect(), 30, 3), 'tokens', keys.slice(0, 100));
    expect(numbers(found)).toEqual(items.slice(0, 100).map(({ number }) => number));
  });

  it('waits longer each time before it asks again', async () => {
    await batchGet(partlyDone(connect(), 1, 7), 'tokens', keys.slice(0, 20));
    expect(pauses).toHaveLength(7);
    for (const [round, wait] of pauses.entries()) {
      expect(wait).toBeLessThanOrEqual(Math.min(50 * 2 ** round, 1_000));
      expect(wait).toBeGreaterThanOrEqual(Math.min(50 * 2 ** round, 1_000) / 2);
    }
  });

  it('fails where something stays open, and never says that it is not there', async () => {
    const stuck = partlyDone(connect(), 0, Number.POSITIVE_INFINITY);
    await expect(batchGet(stuck, 'tokens', keys)).rejects.toMatchObject({ type: 'serviceUnavailable' });
  });

  it('reads only the attributes that are asked for', async () => {
    const projection = { ProjectionExpression: '#number', ExpressionAttributeNames: { '#number': 'number' } };
    expect(await batchGet(client, 'tokens', keys.slice(0, 1), projection)).toEqual([{ number: 0 }]);
  });
});

describe('writing many items', () => {
  const written = (name: string, count: number) =>
    Array.from({ length: count }, (_, number) => ({ PutRequest: { Item: { pk: `${name}${number}`, number } } }));
  const stored = async (name: string, count: number) =>
    (
      await batchGet(
        client,
        'tokens',
        Array.from({ length: count }, (_, number) => ({ pk: `${name}${number}` })),
      )
    ).length;

  it('writes them all, 25 at a time', async () => {
    const database = connect();
    const counts = counted(database);
    await batchWrite(database, 'tokens', written('many', 60));
    expect(counts).toEqual({ BatchWriteItemCommand: 3 });
    expect(await stored('many', 60)).toBe(60);
  });

  it('sends again what was left open', async () => {
    await batchWrite(partlyDone(connect(), 10, 2), 'tokens', written('open', 25));
    expect(await stored('open', 25)).toBe(25);
  });

  it('fails where something stays open', async () => {
    const stuck = partlyDone(connect(), 0, Number.POSITIVE_INFINITY);
    await expect(batchWrite(stuck, 'tokens', written('stuck', 1))).rejects.toMatchObject({
      type: 'serviceUnavailable',
    });
  });

  it('fails where the table throttles', async () => {
    const slow = throttled(connect({ maxAttempts: 1 }), 'BatchWriteItemCommand');
    await expect(batchWrite(slow, 'tokens', written('slow', 1))).rejects.toMatchObject({
      name: 'ProvisionedThroughputExceededException',
    });
  });
});
