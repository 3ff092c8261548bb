import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type { IsTenantThrottled } from '../adapters/dynamodb/errors.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import { count, emitMetrics, oldestAgeSeconds } from '../adapters/metrics.ts';
import type { Queues } from '../adapters/queues.ts';
import { internalErrorDelayMs } from '../domain/retry-schedule.ts';
import type { Clock } from '../domain/time.ts';
import type { FunctionName } from '../environment.ts';

export type Received<Body> = { message: SQSRecord; body: Body };

export type Counts = Readonly<Record<string, number>>;

type ProcessingFailure = 'internal_error' | 'throttled_keys';

export type Handled = {
  message: SQSRecord;
  kind?: string | undefined;
  /** True if it stays on its queue, with its visibility timeout already set. All other messages are acknowledged. */
  isReturned?: boolean;
  /** Whether it counts as an internal error: by default if that is its kind. */
  isInternalError?: boolean;
  /** Since when it waits, in ms since the epoch: by default since it was sent. */
  waitsSinceMs?: number;
};

export type HandledBatch = {
  handled: readonly Handled[];
  /** Counts of the whole stack. */
  counts?: Counts;
  metrics?: Counts;
  values?: Readonly<Record<string, readonly number[]>>;
  lateSeconds?: number;
};

export type ReturnOptions = {
  /** The dimension of the metrics, and a log field. */
  dimension: { function: FunctionName } | { type: string };
  queueUrlOf: (message: SQSRecord) => string;
  queues: Pick<Queues, 'changeVisibility'>;
  isTenantThrottled: IsTenantThrottled;
  retryDelayScale?: number;
};

export type Ids = Readonly<Record<string, string | undefined>>;

/** Creates the functions that return messages to their queue. None of them rejects. */
export const createMessageReturn = ({
  dimension,
  queueUrlOf,
  queues,
  isTenantThrottled,
  retryDelayScale = 1,
}: ReturnOptions) => {
  /**
   * By default after a delay that grows with its receive count (docs/decisions/deliveries.md#internal-errors); if that
   * fails, when its current timeout ends. It must also be reported as a batch item failure.
   */
  const returnMessage = async (message: SQSRecord, delayMs?: number): Promise<void> => {
    const { messageId: message_id, attributes } = message;
    const { MessageGroupId: tenant_id, ApproximateReceiveCount: receives } = attributes;
    const timeoutMs = delayMs ?? internalErrorDelayMs(Number(receives), retryDelayScale);
    await queues.changeVisibility(queueUrlOf(message), message, timeoutMs).catch((error: unknown) => {
      logger.error('visibility change failed', { ...dimension, message_id, tenant_id, ...errorTrace(error) });
    });
  };

  const logError = (message: SQSRecord, ids: Ids, error: unknown): ProcessingFailure => {
    const { messageId: message_id, attributes } = message;
    const tenant_id = ids.tenant_id ?? attributes.MessageGroupId;
    const outcome = isTenantThrottled(error, tenant_id ?? message_id) ? 'throttled_keys' : 'internal_error';
    const receives = Number(attributes.ApproximateReceiveCount);
    const fields = { ...dimension, outcome, message_id, ...ids, tenant_id, receives, ...errorTrace(error) };
    if (outcome === 'internal_error') logger.error('internal error', fields);
    else logger.warn('partition key throttled', fields);
    return outcome;
  };

  return {
    returnMessage,
    logError,

    async returnAfterError(message: SQSRecord, ids: Ids, error: unknown) {
      const kind = logError(message, ids, error);
      await returnMessage(message);
      return { kind, isReturned: true } as const;
    },
  };
};

export type BatchOptions<Body> = Pick<ReturnOptions, 'dimension'> & {
  clock: Clock;
  /** Returns undefined for an invalid body. */
  parse: (body: string) => Body | undefined;
  /** Processes the messages of a batch, those with an invalid body apart. Never rejects. */
  process: (
    received: readonly Received<Body>[],
    invalid: readonly SQSRecord[],
    timeLeft: () => number,
  ) => Promise<HandledBatch>;
};

/** Creates the handler of a queue: parses the messages, hands them over together, counts, and acknowledges. */
export const createBatchConsumer =
  <Body>({ dimension, clock, parse, process }: BatchOptions<Body>) =>
  async ({ Records: messages }: SQSEvent, context?: Context): Promise<SQSBatchResponse> => {
    logger.appendKeys({ request_id: context?.awsRequestId });
    const parsed = messages.map((message) => ({ message, body: parse(message.body) }));
    const received = parsed.flatMap(({ message, body }) => (body === undefined ? [] : [{ message, body }]));
    const invalid = parsed.flatMap(({ message, body }) => (body === undefined ? [message] : []));
    const timeLeft = () => context?.getRemainingTimeInMillis() ?? Number.POSITIVE_INFINITY;
    const batch = await process(received, invalid, timeLeft);
    const { handled, counts = {}, metrics = {}, values = {}, lateSeconds = 0 } = batch;
    const failed = handled.filter(({ kind, isInternalError = kind === 'internal_error' }) => isInternalError);
    // A message that was processed and could not be recorded does not wait.
    const waiting = failed.filter(({ kind, isReturned }) => isReturned || kind === 'internal_error');
    const sinceMs = waiting.map(({ message, waitsSinceMs = Number(message.attributes.SentTimestamp) }) => waitsSinceMs);
    count(counts);
    emitMetrics(
      {
        ...metrics,
        throttled_keys: handled.filter(({ kind }) => kind === 'throttled_keys').length,
        internal_errors: failed.length,
        oldest_unprocessed_seconds: Math.max(oldestAgeSeconds(sinceMs, clock()), lateSeconds),
      },
      dimension,
      values,
    );
    const returned = handled.filter(({ isReturned }) => isReturned);
    return { batchItemFailures: returned.map(({ message }) => ({ itemIdentifier: message.messageId })) };
  };
