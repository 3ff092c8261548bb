import { ProvisionedThroughputExceededException } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';

/** True for the first `times` calls. */
const firstOf = (times: number) => {
  let left = times;
  return () => left-- > 0;
};

/** Throttles the first requests of this kind, or all of them. */
export const throttled = (client: DynamoDBDocumentClient, command: string, times = Number.POSITIVE_INFINITY) => {
  const isHit = firstOf(times);
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
 * Does what the first request of this kind asks for, and loses the answer on its way back, so that the SDK repeats it. What
 * others do meanwhile is done before the repetition.
 */
export const losingAnswer = (
  client: DynamoDBDocumentClient,
  command: string,
  meanwhile: () => Promise<unknown> = async () => undefined,
) => {
  const isHit = firstOf(1);
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
export const interrupted = (
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
export const counted = (client: DynamoDBDocumentClient): Record<string, number> => {
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
export const partlyDone = (client: DynamoDBDocumentClient, done: number, times = 1) => {
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
export const throttledPartitions = (
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
