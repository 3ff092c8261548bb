import {
  DynamoDBServiceException,
  ProvisionedThroughputExceededException,
  TransactionCanceledException,
  TransactionConflictException,
} from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';

/** Returns a function that skips `skipped` calls and then returns true for `times` calls. */
const firstCalls = (times: number, skipped = 0) => {
  let calls = 0;
  return () => ++calls > skipped && calls <= skipped + times;
};

const transaction = z.object({ TransactItems: z.array(z.unknown()) });

/** Returns the error of a transaction that its last item cancels, or else that of a request without transaction. */
const itemError = (input: unknown, code: string, otherwise: DynamoDBServiceException): DynamoDBServiceException => {
  const items = transaction.safeParse(input).data?.TransactItems;
  if (!items) return otherwise;
  const codes = items.map((_, index) => (index === items.length - 1 ? code : 'None'));
  return new TransactionCanceledException({
    message: `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes.join(', ')}]`,
    CancellationReasons: codes.map((Code) => ({ Code })),
    $metadata: {},
  });
};

/** Fails `times` requests of a command, after `skipped` ones. */
const withErrors = (
  client: DynamoDBDocumentClient,
  command: string,
  errorOf: (input: unknown) => DynamoDBServiceException,
  times: number,
  skipped: number,
) => {
  const isHit = firstCalls(times, skipped);
  client.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        if (commandName !== command || !isHit()) return next(args);
        throw errorOf(args.input);
      },
    { step: 'deserialize' },
  );
  return client;
};

/** Throttles `times` requests of a command, by default all, after `skipped` ones. */
export const withThrottling = (
  client: DynamoDBDocumentClient,
  command: string,
  times = Number.POSITIVE_INFINITY,
  skipped = 0,
) => {
  const error = () => new ProvisionedThroughputExceededException({ message: 'too fast', $metadata: {} });
  return withErrors(client, command, (input) => itemError(input, 'ThrottlingError', error()), times, skipped);
};

/** Rejects `times` requests of a command for a reason that no repetition changes, after `skipped` ones. */
export const withRejections = (
  client: DynamoDBDocumentClient,
  command: string,
  times = Number.POSITIVE_INFINITY,
  skipped = 0,
) => {
  const rejection = { name: 'AccessDeniedException', message: 'rejected', $fault: 'client', $metadata: {} } as const;
  return withErrors(client, command, () => new DynamoDBServiceException(rejection), times, skipped);
};

/** Makes `times` requests of a command, by default all, conflict with a transaction, after `skipped` ones. */
export const withConflicts = (
  client: DynamoDBDocumentClient,
  command: string,
  times = Number.POSITIVE_INFINITY,
  skipped = 0,
) => {
  const message = 'Transaction is ongoing for the item';
  const error = () => new TransactionConflictException({ message, $metadata: {} });
  return withErrors(client, command, (input) => itemError(input, 'TransactionConflict', error()), times, skipped);
};

/** Applies a request of a command, by default the first, and loses its response: the SDK repeats it after `meanwhile`. */
export const withLostResponse = (
  client: DynamoDBDocumentClient,
  command: string,
  { number = 1, meanwhile = async () => undefined }: { number?: number; meanwhile?: () => Promise<unknown> } = {},
) => {
  const isHit = firstCalls(1, number - 1);
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const response = await next(args);
        if (commandName !== command || !isHit()) return response;
        await meanwhile();
        throw Object.assign(new Error('the socket hung up'), { name: 'TimeoutError' });
      },
    { step: 'deserialize' },
  );
  return client;
};

/** Runs `act` before the first request of a command, or before those that `isSelected` selects by number, from 1. */
export const withInterruption = (
  client: DynamoDBDocumentClient,
  command: string,
  act: () => Promise<unknown>,
  isSelected: (count: number) => boolean = (count) => count === 1,
) => {
  let count = 0;
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (commandName === command && isSelected(++count)) await act();
        return next(args);
      },
    { step: 'build' },
  );
  return client;
};

/** Counts the requests, by command. */
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

/** Returns a slice of every table's keys or writes. */
const sliceOf = <Tables extends Requests>(requests: Tables, from: number, to: number) =>
  Object.fromEntries(
    Object.entries(requests).map(([table, request]) => [
      table,
      Array.isArray(request) ? request.slice(from, to) : { ...request, Keys: request.Keys?.slice(from, to) },
    ]),
  );

/** Processes only the first `processed` items of each of the first `times` batch requests. */
export const withPartialBatches = (client: DynamoDBDocumentClient, processed: number, times = 1) => {
  const isHit = firstCalls(times);
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const { input } = args;
        if (!('RequestItems' in input) || !input.RequestItems || !isHit()) return next(args);
        const rest = sliceOf(input.RequestItems, processed, Number.POSITIVE_INFINITY);
        const unprocessed =
          commandName === 'BatchGetItemCommand' ? { UnprocessedKeys: rest } : { UnprocessedItems: rest };
        if (processed === 0) return { response: {}, output: { $metadata: {}, ...unprocessed } };
        Object.assign(input, { RequestItems: sliceOf(input.RequestItems, 0, processed) });
        const response = await next(args);
        Object.assign(response.output, unprocessed);
        return response;
      },
    { step: 'serialize', priority: 'high' },
  );
  return client;
};

const batchGetInput = z.object({
  RequestItems: z.record(
    z.string(),
    z.looseObject({
      Keys: z.array(z.looseObject({ pk: z.string(), sk: z.string().optional() })),
      ConsistentRead: z.boolean().default(false),
    }),
  ),
});

/**
 * Responds to eventually consistent BatchGetItem requests with earlier versions of items, as DynamoDB may: by sort key,
 * undefined for an item that did not exist.
 */
export const withStaleReads = (
  client: DynamoDBDocumentClient,
  earlier: ReadonlyMap<unknown, Record<string, unknown> | undefined>,
) => {
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const response = await next(args);
        if (commandName !== 'BatchGetItemCommand') return response;
        const [[table, { Keys, ConsistentRead }] = ['', { Keys: [], ConsistentRead: true }]] = Object.entries(
          batchGetInput.parse(args.input).RequestItems,
        );
        if (ConsistentRead) return response;
        const { Responses = {} } = batchGetOutput.parse(response.output);
        const current = new Map<unknown, unknown>(Responses[table]?.map((item) => [item.sk, item]));
        const items = Keys.map(({ sk }) => (earlier.has(sk) ? earlier.get(sk) : current.get(sk)));
        Object.assign(response.output, { Responses: { [table]: items.filter((item) => item !== undefined) } });
        return response;
      },
    { step: 'serialize', priority: 'high' },
  );
  return client;
};

const batchGetOutput = z.object({
  Responses: z.record(z.string(), z.array(z.looseObject({ sk: z.unknown() }))).optional(),
});

/**
 * Throttles partitions in BatchGetItem as DynamoDB does: their keys stay unprocessed, and a request with no other keys
 * fails. It throttles only the first `times` requests with such keys.
 */
export const withThrottledPartitions = (
  client: DynamoDBDocumentClient,
  isThrottledPartition: (pk: string) => boolean,
  times = Number.POSITIVE_INFINITY,
) => {
  const isHit = firstCalls(times);
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
        const response = await next(args);
        Object.assign(response.output, { UnprocessedKeys: { [table]: { ...request, Keys: throttledKeys } } });
        return response;
      },
    { step: 'serialize', priority: 'high' },
  );
  return client;
};

/** What happens to the request during which a worker is killed. */
export type KilledRequest =
  /** It is never sent. */
  | 'lost'
  /** It is applied; its response is lost. */
  | 'applied'
  /** It is applied when a test calls `send`. */
  | 'delayed';

/** A request that a test sends later. */
export type LateRequest = { command: string; send: () => Promise<unknown> };

const isWrite = (command: string): boolean => /^(Put|Update|Delete|BatchWrite|TransactWrite)/.test(command);

/** Kills a worker during its request with this number, counted from 1. Later requests are not sent. */
export const withKilledWorker = (
  client: DynamoDBDocumentClient,
  number: number,
  effect: KilledRequest,
  late: LateRequest[],
) => {
  let count = 0;
  client.middlewareStack.add(
    (next, { commandName: command = '' }) =>
      async (args) => {
        count++;
        if (count < number) return next(args);
        if (count === number && effect === 'applied') await next(args);
        if (count === number && effect === 'delayed' && isWrite(command)) {
          late.push({ command, send: () => next(args).catch(() => undefined) });
        }
        throw new Error('killed');
      },
    { step: 'deserialize' },
  );
  return client;
};

/** Delays the first copy of each write until a test sends it. The SDK times out and repeats the write. */
export const withDelayedWrites = (client: DynamoDBDocumentClient, late: LateRequest[]) => {
  client.middlewareStack.add(
    (next, { commandName: command = '' }) => {
      let attempts = 0;
      return (args) => {
        if (!isWrite(command) || ++attempts > 1) return next(args);
        late.push({ command, send: () => next(args).catch(() => undefined) });
        throw Object.assign(new Error('no response'), { name: 'TimeoutError' });
      };
    },
    { step: 'deserialize' },
  );
  return client;
};
