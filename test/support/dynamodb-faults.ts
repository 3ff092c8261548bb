import { ProvisionedThroughputExceededException } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';

/** True for the first `times` calls after those that are skipped. */
const firstOf = (times: number, skipped = 0) => {
  let calls = 0;
  return () => ++calls > skipped && calls <= skipped + times;
};

/** Throttles the first requests of this kind, or all of them, after those that are skipped. */
export const withThrottling = (
  client: DynamoDBDocumentClient,
  command: string,
  times = Number.POSITIVE_INFINITY,
  skipped = 0,
) => {
  const isHit = firstOf(times, skipped);
  client.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        if (commandName !== command || !isHit()) return next(args);
        throw new ProvisionedThroughputExceededException({ message: 'too fast', $metadata: {} });
      },
    { step: 'deserialize' },
  );
  return client;
};

/**
 * Does what a request of this kind asks for, the first one or the one of this number, and loses the response on its way back, so
 * that the SDK repeats it. What others do meanwhile is done before the repetition.
 */
export const withLostResponse = (
  client: DynamoDBDocumentClient,
  command: string,
  { number = 1, meanwhile = async () => undefined }: { number?: number; meanwhile?: () => Promise<unknown> } = {},
) => {
  const isHit = firstOf(1, number - 1);
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const answer = await next(args);
        if (commandName !== command || !isHit()) return answer;
        await meanwhile();
        throw Object.assign(new Error('the socket hung up'), { name: 'TimeoutError' });
      },
    { step: 'deserialize' },
  );
  return client;
};

/** Lets something happen just before requests of this kind go out: before the first one, or those that are named. */
export const withInterruption = (
  client: DynamoDBDocumentClient,
  command: string,
  act: () => Promise<unknown>,
  isMeant: (count: number) => boolean = (count) => count === 1,
) => {
  let count = 0;
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (commandName === command && isMeant(++count)) await act();
        return next(args);
      },
    { step: 'build' },
  );
  return client;
};

/** Counts the requests that go out, by kind. */
export const countRequests = (client: DynamoDBDocumentClient): Record<string, number> => {
  const counts: Record<string, number> = {};
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      (args) => {
        counts[commandName] = (counts[commandName] ?? 0) + 1;
        return next(args);
      },
    { step: 'build' },
  );
  return counts;
};

type Requests = Record<string, unknown[] | { Keys?: unknown[] | undefined }>;

/** A part of every table's keys or writes. */
const part = <Tables extends Requests>(requests: Tables, from: number, to: number) =>
  Object.fromEntries(
    Object.entries(requests).map(([table, asked]) => [
      table,
      Array.isArray(asked) ? asked.slice(from, to) : { ...asked, Keys: asked.Keys?.slice(from, to) },
    ]),
  );

/** Answers the first batch requests with only so many of their items, the others unprocessed. */
export const withPartialBatches = (client: DynamoDBDocumentClient, done: number, times = 1) => {
  const isHit = firstOf(times);
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const { input } = args;
        if (!('RequestItems' in input) || !input.RequestItems || !isHit()) return next(args);
        const rest = part(input.RequestItems, done, Number.POSITIVE_INFINITY);
        const unprocessed =
          commandName === 'BatchGetItemCommand' ? { UnprocessedKeys: rest } : { UnprocessedItems: rest };
        if (done === 0) return { response: {}, output: { $metadata: {}, ...unprocessed } };
        Object.assign(input, { RequestItems: part(input.RequestItems, 0, done) });
        const answer = await next(args);
        Object.assign(answer.output, unprocessed);
        return answer;
      },
    { step: 'serialize', priority: 'high' },
  );
  return client;
};

const batchGetInput = z.object({
  RequestItems: z.record(z.string(), z.looseObject({ Keys: z.array(z.looseObject({ pk: z.string() })) })),
});

/**
 * Throttles partitions in BatchGetItem as DynamoDB does: their keys stay unprocessed, and the request fails where no other key
 * is in it. Only the first `times` requests with such keys are throttled.
 */
export const withThrottledPartitions = (
  client: DynamoDBDocumentClient,
  isThrottledPartition: (pk: string) => boolean,
  times = Number.POSITIVE_INFINITY,
) => {
  const isHit = firstOf(times);
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (commandName !== 'BatchGetItemCommand') return next(args);
        const [[table, request] = []] = Object.entries(batchGetInput.parse(args.input).RequestItems);
        if (table === undefined || request === undefined) return next(args);
        const throttledKeys = request.Keys.filter(({ pk }) => isThrottledPartition(pk));
        if (throttledKeys.length === 0 || !isHit()) return next(args);
        const others = request.Keys.filter((key) => !throttledKeys.includes(key));
        if (others.length === 0)
          throw new ProvisionedThroughputExceededException({ message: 'too fast', $metadata: {} });
        Object.assign(args.input, { RequestItems: { [table]: { ...request, Keys: others } } });
        const answer = await next(args);
        Object.assign(answer.output, { UnprocessedKeys: { [table]: { ...request, Keys: throttledKeys } } });
        return answer;
      },
    { step: 'serialize', priority: 'high' },
  );
  return client;
};

/** What becomes of the request at which a worker is killed. */
export type Fate =
  /** It is never sent. */
  | 'lost'
  /** It is applied, and nobody sees its response. */
  | 'applied'
  /** It is applied later: by `land`. */
  | 'delayed';

/** A request that is sent again, or for the first time, when `land` is called. */
export type LateRequest = { command: string; land: () => Promise<unknown> };

const isWrite = (command: string): boolean => /^(Put|Update|Delete|BatchWrite)/.test(command);

/** Kills a worker at its request of this number (from 1): nothing that it sends afterwards goes out. */
export const withKilledWorker = (client: DynamoDBDocumentClient, number: number, fate: Fate, late: LateRequest[]) => {
  let count = 0;
  client.middlewareStack.add(
    (next, { commandName: command = '' }) =>
      async (args) => {
        count++;
        if (count < number) return next(args);
        if (count === number && fate === 'applied') await next(args);
        if (count === number && fate === 'delayed' && isWrite(command)) {
          late.push({ command, land: () => next(args).catch(() => undefined) });
        }
        throw new Error('killed');
      },
    { step: 'deserialize' },
  );
  return client;
};

/**
 * Delays the first copy of each write: the SDK takes it for lost and repeats it, and the first copy arrives when a test lets it
 * land.
 */
export const withDelayedWrites = (client: DynamoDBDocumentClient, late: LateRequest[]) => {
  client.middlewareStack.add(
    (next, { commandName: command = '' }) => {
      let attempts = 0;
      return (args) => {
        if (!isWrite(command) || ++attempts > 1) return next(args);
        late.push({ command, land: () => next(args).catch(() => undefined) });
        throw Object.assign(new Error('no response'), { name: 'TimeoutError' });
      };
    },
    { step: 'deserialize' },
  );
  return client;
};

/** Records the writes that were sent, so that a test can let a second copy of each arrive later. */
export const withLateCopies = (client: DynamoDBDocumentClient, late: LateRequest[]) => {
  client.middlewareStack.add(
    (next, { commandName: command = '' }) =>
      (args) => {
        if (isWrite(command)) late.push({ command, land: () => next(args).catch(() => undefined) });
        return next(args);
      },
    { step: 'deserialize' },
  );
  return client;
};
