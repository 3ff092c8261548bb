import { createThrottlingWatch } from '../adapters/dynamodb/errors.ts';
import { logger } from '../adapters/logger.ts';
import { withTimeout } from '../adapters/waiting.ts';
import type { FunctionName } from '../environment.ts';
import {
  type BatchOptions,
  type Counts,
  createBatchConsumer,
  createMessageReturn,
  type Handled,
  type Ids,
  type Received,
  type ReturnOptions,
} from './batch-consumer.ts';

/** Messages are acknowledged together: one that waits for throttled keys must not let the function time out. */
const MAX_PROCESS_MS = 10_000;

export type ConsumerOptions<Body> = Pick<BatchOptions<Body>, 'clock' | 'parse'> & {
  name: FunctionName;
  queueUrl: string;
  queues: ReturnOptions['queues'];
  /** The metric of invalid messages, which are acknowledged: retrying would not help. */
  invalidMetric: string;
  idsOf: (body: Body) => Ids;
  /** Processes a message, which returns to its queue if the promise rejects, or does not resolve within ten seconds. */
  process: (received: Received<Body>) => Promise<Counts>;
  /** Does the rest for all messages of a batch, after `process`. Returns those that return to their queue. */
  finish?: (received: readonly Received<Body>[]) => Promise<ReadonlySet<Received<Body>>>;
};

const sumOf = (all: readonly Counts[]): Counts => {
  const sum: Record<string, number> = {};
  for (const [name, amount] of all.flatMap(Object.entries)) sum[name] = (sum[name] ?? 0) + amount;
  return sum;
};

/** Creates the handler of a queue that processes its messages independently and concurrently. */
export const createQueueConsumer = <Body>({
  name,
  queueUrl,
  queues,
  clock,
  parse,
  invalidMetric,
  idsOf,
  process,
  finish,
}: ConsumerOptions<Body>) => {
  const dimension = { function: name };
  const isTenantThrottled = createThrottlingWatch(clock);
  const { returnAfterError } = createMessageReturn({
    dimension,
    queueUrlOf: () => queueUrl,
    queues,
    isTenantThrottled,
  });

  type Result = Handled & { counts?: Counts };

  const resultOf = async (
    { message, body }: Received<Body>,
    processed: Promise<Counts>,
    isUnfinished: boolean | undefined,
  ): Promise<Result> => {
    try {
      const counts = await processed;
      if (isUnfinished) throw new Error('The message was not finished.');
      return { message, counts };
    } catch (error) {
      return { message, ...(await returnAfterError(message, idsOf(body), error)) };
    }
  };

  return createBatchConsumer<Body>({
    dimension,
    clock,
    parse,
    async process(received, invalid) {
      for (const { messageId } of invalid) logger.warn('invalid message', { ...dimension, message_id: messageId });
      const processed = received.map((each) => ({ each, counts: withTimeout(process(each), MAX_PROCESS_MS) }));
      await Promise.allSettled(processed.map(({ counts }) => counts));
      const unfinished = await finish?.(received);
      const handled = await Promise.all(
        processed.map(({ each, counts }) => resultOf(each, counts, unfinished?.has(each))),
      );
      return {
        handled,
        counts: sumOf([...handled.map(({ counts = {} }) => counts), { [invalidMetric]: invalid.length }]),
      };
    },
  });
};
