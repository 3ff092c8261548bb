import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { isDependencyFailure, isThrottled } from '../../../shared/adapters/aws-client.ts';
import { batchGet, batchWrite } from '../../../shared/adapters/dynamodb/batches.ts';
import { UnprocessedItemsError } from '../../../shared/adapters/dynamodb/errors.ts';
import { readEach } from '../../../shared/adapters/dynamodb/read-each.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import {
  countRequests,
  withInterruption,
  withPartialBatches,
  withStaleReads,
  withThrottledPartitions,
  withThrottling,
} from '../../support/dynamodb-faults.ts';

const sleeps = vi.hoisted((): number[] => []);
vi.mock('node:timers/promises', () => ({
  setTimeout: async (ms: number) => {
    sleeps.push(ms);
  },
}));
beforeEach(() => {
  sleeps.length = 0;
});

const { client, connect } = useDatabase();

const items = Array.from({ length: 230 }, (_, number) => ({ pk: `item${number}`, number }));
const keys = items.map(({ pk }) => ({ pk }));
const writes = items.map((Item) => ({ PutRequest: { Item } }));
beforeAll(() => batchWrite(client, 'tokens', writes));

const numbers = (found: Record<string, unknown>[]) =>
  found.map(({ number }) => Number(number)).toSorted((a, b) => a - b);

describe('batchGet', () => {
  it('reads all existing items, 100 per request', async () => {
    const database = connect();
    const counts = countRequests(database);
    expect(numbers(await batchGet(database, 'tokens', [...keys, { pk: 'missing' }]))).toEqual(
      items.map(({ number }) => number),
    );
    expect(await batchGet(database, 'tokens', [])).toEqual([]);
    expect(counts).toEqual({ BatchGetItemCommand: 3 });
  });

  it('reads items that a replica does not have yet', async () => {
    const database = withStaleReads(connect(), new Map([[undefined, undefined]]));
    expect(numbers(await batchGet(database, 'tokens', keys.slice(0, 2)))).toEqual([0, 1]);
  });

  it('reads unprocessed keys again until all are processed', async () => {
    const found = await batchGet(withPartialBatches(connect(), 30, 3), 'tokens', keys.slice(0, 100));
    expect(numbers(found)).toEqual(items.slice(0, 100).map(({ number }) => number));
  });

  it('backs off exponentially before it reads again', async () => {
    await batchGet(withPartialBatches(connect(), 1, 7), 'tokens', keys.slice(0, 20));
    expect(sleeps).toHaveLength(7);
    for (const [attempt, ms] of sleeps.entries()) {
      expect(ms).toBeLessThanOrEqual(Math.min(50 * 2 ** attempt, 1_000));
      expect(ms).toBeGreaterThanOrEqual(Math.min(50 * 2 ** attempt, 1_000) / 2);
    }
  });

  it('fails if keys stay unprocessed, instead of reporting missing items', async () => {
    const stuck = withPartialBatches(connect(), 0, Number.POSITIVE_INFINITY);
    await expect(batchGet(stuck, 'tokens', keys)).rejects.toMatchObject({ type: 'serviceUnavailable' });
  });

  it('reads only the projected attributes', async () => {
    const projection = { ProjectionExpression: '#number', ExpressionAttributeNames: { '#number': 'number' } };
    expect(await batchGet(client, 'tokens', keys.slice(0, 1), projection)).toEqual([{ number: 0 }]);
  });
});

describe('readEach', () => {
  const key = (pk: string, sk: string) => ({ pk, sk });
  const own = Array.from({ length: 130 }, (_, number) => key('own', String(number)));
  const other = Array.from({ length: 5 }, (_, number) => key('other', String(number)));
  const isOther = (pk: string) => pk === 'other';

  beforeAll(async () => {
    const puts = [...own, ...other].map((Item) => ({ PutRequest: { Item } }));
    await batchWrite(client, 'notifications', puts);
  });

  const readAll = (find: ReturnType<typeof readEach>, keys: typeof own) => Promise.allSettled(keys.map(find));
  const results = (settled: PromiseSettledResult<unknown>[]) =>
    settled.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason.name)));

  it('reads each key once, 100 per request', async () => {
    const database = connect();
    const counts = countRequests(database);
    const find = readEach(database, 'notifications', [...own, ...own]);
    expect(results(await readAll(find, own))).toEqual(own);
    expect(counts).toEqual({ BatchGetItemCommand: 2 });
  });

  it('sends requests concurrently', async () => {
    const database = connect();
    let open = 0;
    const { promise: bothOpen, resolve } = Promise.withResolvers<void>();
    database.middlewareStack.add(
      (next) => async (args) => {
        if (++open === 2) resolve();
        await bothOpen;
        return next(args);
      },
      { step: 'build' },
    );
    expect(results(await readAll(readEach(database, 'notifications', own), own))).toEqual(own);
  });

  it('resolves processed keys while unprocessed keys are read again', async () => {
    const { promise: mayReadAgain, resolve } = Promise.withResolvers<void>();
    const database = withInterruption(
      withThrottledPartitions(connect(), isOther, 1),
      'BatchGetItemCommand',
      () => mayReadAgain,
      (count) => count === 2,
    );
    const find = readEach(database, 'notifications', [key('own', '1'), key('own', 'none'), key('other', '1')]);
    expect(await find(key('own', '1'))).toEqual(key('own', '1'));
    expect(await find(key('own', 'none'))).toBeUndefined();
    resolve();
    expect(await find(key('other', '1'))).toEqual(key('other', '1'));
  });

  it('fails only for the keys of a throttled partition, after a second read', async () => {
    const isThrottledPartition = vi.fn(isOther);
    const database = withThrottledPartitions(connect({ maxAttempts: 1 }), isThrottledPartition);
    const keys = [...own.slice(0, 90), ...other];
    const find = readEach(database, 'notifications', keys);
    expect(results(await readAll(find, keys))).toEqual([
      ...own.slice(0, 90),
      ...other.map(() => 'ProvisionedThroughputExceededException'),
    ]);
    const [failure] = await Promise.all(other.slice(0, 1).map((first) => find(first).catch((error: unknown) => error)));
    expect([isDependencyFailure(failure), isThrottled(failure)]).toEqual([true, true]);
    const readsOfOther = isThrottledPartition.mock.calls.filter(([pk]) => isOther(pk));
    expect(readsOfOther).toHaveLength(2 * other.length);
  });

  it('fails for keys that stay unprocessed in a successful request', async () => {
    let readsOfOther = 0;
    const database = withThrottledPartitions(connect(), (pk) => pk === 'own' || (isOther(pk) && readsOfOther++ === 0));
    const keys = [key('own', '1'), key('other', '1'), key('none', '1')];
    const settled = results(await readAll(readEach(database, 'notifications', keys), keys));
    expect(settled).toEqual(['UnprocessedKeyError', key('other', '1'), undefined]);
  });

  it('fails with the error of a failed request, the first or the second', async () => {
    const database = withThrottling(connect({ maxAttempts: 1 }), 'BatchGetItemCommand');
    const settled = results(await readAll(readEach(database, 'notifications', other), other));
    expect(settled).toEqual(other.map(() => 'ProvisionedThroughputExceededException'));
    const interrupted = withInterruption(
      withThrottledPartitions(connect({ maxAttempts: 1 }), isOther, 1),
      'BatchGetItemCommand',
      () => Promise.reject(new TypeError('no connection')),
      (count) => count === 2,
    );
    const keys = [key('own', '1'), key('other', '1')];
    expect(results(await readAll(readEach(interrupted, 'notifications', keys), keys))).toEqual([keys[0], 'TypeError']);
  });

  it('causes no unhandled rejection if a failure is not awaited', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    const database = withThrottling(connect({ maxAttempts: 1 }), 'BatchGetItemCommand');
    const find = readEach(database, 'notifications', other);
    await expect(find(key('other', '1'))).rejects.toThrow();
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe('batchWrite', () => {
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

  it('writes all items, 25 per request', async () => {
    const database = connect();
    const counts = countRequests(database);
    await batchWrite(database, 'tokens', written('many', 60));
    expect(counts).toEqual({ BatchWriteItemCommand: 3 });
    expect(await stored('many', 60)).toBe(60);
  });

  it('sends only unprocessed items again', async () => {
    const database = connect();
    const sizes: number[] = [];
    database.middlewareStack.add(
      (next) => (args) => {
        const { input } = args;
        if ('RequestItems' in input) sizes.push(...Object.values(input.RequestItems ?? {}).map(({ length }) => length));
        return next(args);
      },
      { step: 'serialize', priority: 'high' },
    );
    withPartialBatches(database, 10, 2);
    await batchWrite(database, 'tokens', written('open', 25));
    expect(sizes).toEqual([25, 15, 5]);
    expect(await stored('open', 25)).toBe(25);
  });

  it('reports the unwritten items in its error', async () => {
    const stuck = withPartialBatches(connect(), 10, Number.POSITIVE_INFINITY);
    const failure = await batchWrite(stuck, 'tokens', written('stuck', 25), 2).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UnprocessedItemsError);
    expect(failure).toMatchObject({ requests: written('stuck', 25).slice(20) });
    expect(await stored('stuck', 25)).toBe(20);
  });

  it('writes the other batches if one stays unprocessed, and fails with a throttling error', async () => {
    const stuck = withPartialBatches(connect(), 0, 1);
    const failure = await batchWrite(stuck, 'tokens', written('first', 50), 1).catch((error: unknown) => error);
    expect(failure).toMatchObject({ requests: written('first', 50).slice(0, 25) });
    expect([isDependencyFailure(failure), isThrottled(failure)]).toEqual([true, true]);
    expect(await stored('first', 50)).toBe(25);
  });
});
