import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { createThrottlingWatch } from '../adapters/dynamodb/errors.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import { count, emitMetrics, oldestAgeSeconds } from '../adapters/metrics.ts';
import type { Queues } from '../adapters/queues.ts';
import type { Clock } from '../domain/clock.ts';
import type { FunctionName } from '../environment.ts';
import { returnWithBackoff } from './return-with-backoff.ts';
import { withTimeout } from './with-timeout.ts';

/**
 * The maximum time of a message. Those of a batch are acknowledged together: one that waits for throttled keys must not
 * let the function time out, after which all of them would come back only when their visibility timeout ends.
 */
const MAX_PROCESS_MS = 10_000;

/** A message with its parsed body. */
export type Received<Body> = { message: SQSRecord; body: Body };

/** Metrics to increment. */
export type Counts = Readonly<Record<string, number>>;

/** A queue, the function that consumes it, and how. */
export type ConsumerOptions<Body> = {
  name: FunctionName;
  queueUrl: string;
  queues: Pick<Queues, 'changeVisibility'>;
  clock: Clock;
  /** Returns undefined for an invalid body, whose message is acknowledged: retrying would not help. */
  parse: (body: string) => Body | undefined;
  /** The metric of invalid messages. */
  invalidMetric: string;
  /** Returns the fields that identify a message in logs, with its tenant. */
  idsOf: (body: Body) => Readonly<Record<string, string | undefined>> & { tenant_id: string | undefined };
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

/**
 * Creates the Lambda handler of a queue: it parses the messages of a batch, processes them concurrently, returns those
 * that could not be processed with a delay that grows, and acknowledges the others.
 */
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
}: ConsumerOptions<Body>): ((event: SQSEvent, context?: Context) => Promise<SQSBatchResponse>) => {
  const isTenantThrottled = createThrottlingWatch(clock);

  type Result = { message: SQSRecord; counts?: Counts; result?: 'throttled_keys' | 'internal_error' };

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
      const ids = idsOf(body);
      const result = isTenantThrottled(error, ids.tenant_id ?? message.messageId) ? 'throttled_keys' : 'internal_error';
      logger.error('message not processed', { result, message_id: message.messageId, ...ids, ...errorTrace(error) });
      await returnWithBackoff(queues, queueUrl, message);
      return { message, result };
    }
  };

  return async ({ Records: messages }, context) => {
    logger.appendKeys({ request_id: context?.awsRequestId });
    const received = messages.flatMap((message) => {
      const body = parse(message.body);
      if (body === undefined) logger.warn('invalid message', { function: name, message_id: message.messageId });
      return body === undefined ? [] : [{ message, body }];
    });
    const processed = received.map((each) => ({ each, counts: withTimeout(process(each), MAX_PROCESS_MS) }));
    await Promise.allSettled(processed.map(({ counts }) => counts));
    const unfinished = await finish?.(received);
    const results = await Promise.all(
      processed.map(({ each, counts }) => resultOf(each, counts, unfinished?.has(each))),
    );
    const returned = results.filter(({ result }) => result !== undefined);
    const failed = results.filter(({ result }) => result === 'internal_error');
    const invalid = { [invalidMetric]: messages.length - received.length };
    count(sumOf([...results.map(({ counts = {} }) => counts), invalid]));
    emitMetrics(
      {
        throttled_keys: returned.length - failed.length,
        internal_errors: failed.length,
        oldest_unprocessed_seconds: oldestAgeSeconds(
          failed.map(({ message }) => Number(message.attributes.SentTimestamp)),
          clock(),
        ),
      },
      { function: name },
    );
    return { batchItemFailures: returned.map(({ message }) => ({ itemIdentifier: message.messageId })) };
  };
};
