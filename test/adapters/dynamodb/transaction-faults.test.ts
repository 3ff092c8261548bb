import { TransactionCanceledException, TransactionConflictException } from '@aws-sdk/client-dynamodb';
import {
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  TransactGetCommand,
  TransactWriteCommand,
} from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import { useDatabase } from '../../support/dynamodb.ts';
import {
  type LateRequest,
  withConflicts,
  withDelayedWrites,
  withKilledWorker,
  withLateCopies,
  withLostResponse,
  withThrottling,
} from '../../support/dynamodb-faults.ts';

const { client, connect } = useDatabase();
const TableName = 'deliveries';
const WRITE = 'TransactWriteItemsCommand';
let last = 0;
const newKey = () => ({ pk: `transaction${last++}`, sk: 'counter' });
type Key = ReturnType<typeof newKey>;

/** Adds 1 to a counter, with the token that the SDK makes for the request. */
const increment = (sender: DynamoDBDocumentClient, ...keys: Key[]) =>
  sender.send(
    new TransactWriteCommand({
      TransactItems: keys.map((Key) => ({
        Update: { TableName, Key, UpdateExpression: 'ADD n :one', ExpressionAttributeValues: { ':one': 1 } },
      })),
    }),
  );
const counter = async (Key: Key) => (await client.send(new GetCommand({ TableName, Key }))).Item?.n;
const reasons = (error: unknown) => {
  if (!(error instanceof TransactionCanceledException)) throw error;
  return error.CancellationReasons?.map(({ Code }) => Code);
};

describe('the fault injection of transactions', () => {
  it('loses a response, after which the SDK repeats the transaction with the same token and no effect', async () => {
    const key = newKey();
    await increment(withLostResponse(connect(), WRITE), key);
    expect(await counter(key)).toBe(1);
  });

  it('sends late copies, which have no effect', async () => {
    const key = newKey();
    const late: LateRequest[] = [];
    await increment(withLateCopies(connect(), late), key);
    for (const { send } of late) await send();
    expect([late.map(({ command }) => command), await counter(key)]).toEqual([[WRITE], 1]);
  });

  it('delays a transaction until after its repetition, and then it has no effect', async () => {
    const key = newKey();
    const late: LateRequest[] = [];
    await increment(withDelayedWrites(connect(), late), key);
    expect(await counter(key)).toBe(1);
    for (const { send } of late) await send();
    expect(await counter(key)).toBe(1);
  });

  it('kills a worker whose transaction is applied later', async () => {
    const key = newKey();
    const late: LateRequest[] = [];
    const killed = withKilledWorker(connect({ maxAttempts: 1 }), 1, 'delayed', late);
    await expect(increment(killed, key)).rejects.toThrow('killed');
    expect(await counter(key)).toBeUndefined();
    for (const { send } of late) await send();
    expect(await counter(key)).toBe(1);
  });

  it('cancels transactions by a conflict of the last item', async () => {
    const [first, second] = [newKey(), newKey()];
    const conflicting = withConflicts(connect({ maxAttempts: 1 }), WRITE, 1);
    expect(reasons(await increment(conflicting, first, second).catch((error) => error))).toEqual([
      'None',
      'TransactionConflict',
    ]);
    expect(await counter(first)).toBeUndefined();
    await increment(conflicting, first, second);
    expect(await counter(first)).toBe(1);
  });

  it('makes plain writes and transactional reads conflict', async () => {
    const key = newKey();
    const conflicting = withConflicts(connect({ maxAttempts: 1 }), 'PutItemCommand');
    await expect(conflicting.send(new PutCommand({ TableName, Item: key }))).rejects.toBeInstanceOf(
      TransactionConflictException,
    );
    const reading = withConflicts(connect({ maxAttempts: 1 }), 'TransactGetItemsCommand');
    const read = reading.send(new TransactGetCommand({ TransactItems: [{ Get: { TableName, Key: key } }] }));
    expect(reasons(await read.catch((error) => error))).toEqual(['TransactionConflict']);
  });

  it('throttles an item of a transaction', async () => {
    const key = newKey();
    const throttled = withThrottling(connect({ maxAttempts: 1 }), WRITE);
    expect(reasons(await increment(throttled, key).catch((error) => error))).toEqual(['ThrottlingError']);
  });
});
