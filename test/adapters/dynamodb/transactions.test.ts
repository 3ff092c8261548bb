import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { isThrottled } from '../../../shared/adapters/aws-client.ts';
import { retryConflicts } from '../../../shared/adapters/dynamodb/conditional-writes.ts';
import { TransactionContentionError, UnconfirmedChangeError } from '../../../shared/adapters/dynamodb/errors.ts';
import { type TransactItem, transact } from '../../../shared/adapters/dynamodb/transactions.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import {
  countRequests,
  type LateRequest,
  withConflicts,
  withDelayedWrites,
  withLostResponse,
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
const TableName = 'deliveries';
const WRITE = 'TransactWriteItemsCommand';
/** The number of attempts at a write that always conflicts. */
const ATTEMPTS = 21;

let last = 0;
const newKey = () => ({ pk: `transactions${last++}`, sk: 'counter' });
type Key = ReturnType<typeof newKey>;

const increment = (key: Key): TransactItem => ({
  Update: { TableName, Key: key, UpdateExpression: 'ADD n :one', ExpressionAttributeValues: { ':one': 1 } },
});
const create = (key: Key): TransactItem => ({
  Put: { TableName, Item: { ...key, n: 0 }, ConditionExpression: 'attribute_not_exists(pk)' },
});
const counter = async (key: Key): Promise<unknown> =>
  (await client.send(new GetCommand({ TableName, Key: key, ConsistentRead: true }))).Item?.n;

/** Cancels all transactions for these reasons. */
const withReasons = (database: DynamoDBDocumentClient, ...codes: string[]): DynamoDBDocumentClient => {
  database.middlewareStack.add(
    () => () => {
      throw new TransactionCanceledException({
        message: 'Transaction cancelled',
        CancellationReasons: codes.map((Code) => ({ Code })),
        $metadata: { httpStatusCode: 400 },
      });
    },
    { step: 'deserialize' },
  );
  return database;
};

/** Records the transactions that a client sends, one for each command. */
const recordTransactions = (database: DynamoDBDocumentClient): unknown[] => {
  const inputs: unknown[] = [];
  database.middlewareStack.add(
    (next) => (args) => {
      if ('TransactItems' in args.input) inputs.push(structuredClone(args.input));
      return next(args);
    },
    { step: 'build' },
  );
  return inputs;
};

const errorOf = (write: Promise<unknown>): Promise<unknown> =>
  write.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('a transaction', () => {
  it('writes all of its items', async () => {
    const keys = [newKey(), newKey()];
    await transact(client, { counters: keys.map(increment) });
    expect(await Promise.all(keys.map(counter))).toEqual([1, 1]);
  });

  it('writes nothing if a condition fails, and reports which', async () => {
    const [existing, other, absent] = [newKey(), newKey(), newKey()];
    await transact(client, { all: [create(existing), create(other)] });
    const items = { first: create(existing), second: undefined, third: increment(absent), fourth: create(other) };
    expect(await transact(client, items)).toEqual(['first', 'fourth']);
    expect(await counter(absent)).toBeUndefined();
  });

  it('reports a failed condition although another item conflicts', async () => {
    const database = withReasons(connect(), 'TransactionConflict', 'None', 'ConditionalCheckFailed');
    const [first, second, third] = [create(newKey()), create(newKey()), create(newKey())];
    expect(await transact(database, { first, second, third })).toEqual(['third']);
    expect(sleeps).toEqual([]);
  });

  it('that DynamoDB rejects for another reason is sent once', async () => {
    const database = withReasons(connect(), 'ValidationError');
    const sent = recordTransactions(database);
    expect(await errorOf(transact(database, { item: create(newKey()) }))).toBeInstanceOf(TransactionCanceledException);
    expect(sent).toHaveLength(1);
  });
});

describe('a transaction whose response is lost', () => {
  it('is applied once', async () => {
    const key = newKey();
    await transact(withLostResponse(connect(), WRITE), { item: increment(key) });
    expect(await counter(key)).toBe(1);
  });

  it('is sent again, with the same token, when the SDK has given up', async () => {
    const key = newKey();
    const database = withLostResponse(connect({ maxAttempts: 1 }), WRITE);
    const sent = recordTransactions(database);
    await transact(database, { item: increment(key) });
    expect(await counter(key)).toBe(1);
    const [first, second] = sent;
    expect(first).toMatchObject({ ClientRequestToken: expect.stringMatching(/^[\w-]{36}$/) });
    expect(second).toEqual(first);
    expect(sent).toHaveLength(2);
  });

  it('twice has an unknown outcome', async () => {
    const key = newKey();
    const database = withLostResponse(withLostResponse(connect({ maxAttempts: 1 }), WRITE), WRITE, { number: 2 });
    expect(await errorOf(transact(database, { item: increment(key) }))).toBeInstanceOf(UnconfirmedChangeError);
    expect(await counter(key)).toBe(1);
  });

  it('has an unknown outcome if its copies conflict', async () => {
    const key = newKey();
    const database = withConflicts(withLostResponse(connect({ maxAttempts: 1 }), WRITE), WRITE, ATTEMPTS, 1);
    expect(await errorOf(transact(database, { item: increment(key) }))).toBeInstanceOf(UnconfirmedChangeError);
    expect(await counter(key)).toBe(1);
  });

  it('reports a condition that another request made fail', async () => {
    const key = newKey();
    const database = connect({ maxAttempts: 1 });
    let requests = 0;
    database.middlewareStack.add(
      (next) => async (args) => {
        if (++requests > 1) return next(args);
        await transact(client, { item: create(key) });
        throw Object.assign(new Error('never sent'), { name: 'TimeoutError' });
      },
      { step: 'deserialize' },
    );
    expect(await transact(database, { item: create(key) })).toEqual(['item']);
  });
});

describe('a transaction that conflicts', () => {
  it('is sent once more, over 5 s after the first request, when DynamoDB recovers a stuck transaction', async () => {
    const key = newKey();
    // The requests take no time, however busy the machine is.
    const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    onTestFinished(() => now.mockRestore());
    await transact(withConflicts(connect(), WRITE, ATTEMPTS - 1), { item: increment(key) });
    expect(await counter(key)).toBe(1);
    expect(sleeps.at(-1)).toBeGreaterThan(5_000);
  });

  it('is repeated with increasing delays', async () => {
    const key = newKey();
    await transact(withConflicts(connect(), WRITE, 6), { item: increment(key) });
    expect(await counter(key)).toBe(1);
    expect(sleeps).toHaveLength(6);
    for (const [index, maxMs] of [25, 50, 100, 200, 400, 400].entries()) {
      expect(sleeps[index]).toBeGreaterThanOrEqual(maxMs / 2);
      expect(sleeps[index]).toBeLessThanOrEqual(maxMs);
    }
  });

  it('is applied once although copies of earlier attempts arrive late', async () => {
    const key = newKey();
    const late: LateRequest[] = [];
    await transact(withConflicts(withDelayedWrites(connect(), late), WRITE, 1), { item: increment(key) });
    for (const { send } of late) await send();
    expect(late).toHaveLength(2);
    expect(await counter(key)).toBe(1);
  });

  it.each([
    ['conflicts', withConflicts],
    ['is throttled', withThrottling],
  ])('fails as throttled if it %s in every attempt', async (_, withFault) => {
    const database = withFault(connect(), WRITE);
    const requests = countRequests(database);
    const key = newKey();
    const error = await errorOf(transact(database, { items: [increment(key), increment(newKey())] }));
    expect(error).toBeInstanceOf(TransactionContentionError);
    expect(isThrottled(error)).toBe(true);
    expect(requests).toEqual({ [WRITE]: ATTEMPTS });
    expect(sleeps).toHaveLength(ATTEMPTS - 1);
    expect(await counter(key)).toBeUndefined();
  });

  it('is repeated if provisioned capacity is exceeded', async () => {
    const database = withReasons(connect(), 'None', 'ProvisionedThroughputExceeded');
    expect(await errorOf(transact(database, { item: increment(newKey()) }))).toBeInstanceOf(TransactionContentionError);
  });
});

describe('a plain write that conflicts with a transaction', () => {
  const put = (database: DynamoDBDocumentClient, key: Key, condition?: string) =>
    retryConflicts(() =>
      database.send(new PutCommand({ TableName, Item: { ...key, n: 1 }, ConditionExpression: condition })),
    );

  it('is repeated', async () => {
    const key = newKey();
    await put(withConflicts(connect(), 'PutItemCommand', 3), key);
    expect(await counter(key)).toBe(1);
    expect(sleeps).toHaveLength(3);
  });

  it('fails as throttled after the last attempt', async () => {
    const error = await errorOf(put(withConflicts(connect(), 'PutItemCommand'), newKey()));
    expect(error).toBeInstanceOf(TransactionContentionError);
    expect(sleeps).toHaveLength(ATTEMPTS - 1);
  });

  it('is not repeated if its condition fails', async () => {
    const error = await errorOf(put(client, newKey(), 'attribute_exists(pk)'));
    expect(error).toMatchObject({ name: 'ConditionalCheckFailedException' });
    expect(sleeps).toEqual([]);
  });
});
