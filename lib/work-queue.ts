import { Duration } from 'aws-cdk-lib';
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { EventSourceMapping, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { type IQueue, Queue, QueueEncryption, type QueueProps } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { VISIBILITY_TIMEOUT_MS } from '../shared/domain/timeouts.ts';
import { allow } from './service-function.ts';
import { retryConcurrency } from './settings.ts';

const encryptedQueue: QueueProps = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true };

/** Longer than that of work queues, because a message keeps its send time when SQS moves it. */
export const deadLetterQueue: QueueProps = { ...encryptedQueue, retentionPeriod: Duration.days(14) };

const BATCH_SIZE = 10;

/** Detects crashes only: the delivery record counts the attempts (docs/decisions/deliveries.md#crashed-queue). */
const MAX_RECEIVE_COUNT = 100;

const createQueue = (scope: Construct, id: string, crashedQueue: IQueue, batchingWindowSeconds: number): Queue =>
  new Queue(scope, id, {
    ...encryptedQueue,
    retentionPeriod: Duration.days(4),
    visibilityTimeout: Duration.seconds(VISIBILITY_TIMEOUT_MS / 1000 + batchingWindowSeconds),
    deadLetterQueue: { queue: crashedQueue, maxReceiveCount: MAX_RECEIVE_COUNT },
  });

type Consumption = { batchSize: number; batchingWindowSeconds: number; maxConcurrency: number | undefined };

const consume = (
  scope: Construct,
  id: string,
  { queueArn }: Queue,
  consumer: LambdaFunction,
  { batchSize, batchingWindowSeconds: seconds, maxConcurrency }: Consumption,
): void => {
  consumer.addToRolePolicy(allow(['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'], [queueArn]));
  new EventSourceMapping(scope, id, {
    target: consumer,
    eventSourceArn: queueArn,
    reportBatchItemFailures: true,
    batchSize,
    ...(seconds > 0 && { maxBatchingWindow: Duration.seconds(seconds) }),
    ...(maxConcurrency !== undefined && { maxConcurrency }),
  });
};

export class WorkQueue extends Construct {
  readonly queue: Queue;
  readonly #batchingWindowSeconds: number;

  constructor(scope: Construct, id: string, crashedQueue: IQueue, batchingWindowSeconds = 0) {
    super(scope, id);
    this.#batchingWindowSeconds = batchingWindowSeconds;
    this.queue = createQueue(this, 'Queue', crashedQueue, batchingWindowSeconds);
  }

  /**
   * `maxConcurrency` is the number of concurrent batches: reaching it does not increase receive counts. If it is undefined,
   * Lambda decides, and polls an idle queue less (docs/decisions/stack.md#development-stages).
   */
  addConsumer(consumer: LambdaFunction, maxConcurrency: number | undefined): void {
    const batchingWindowSeconds = this.#batchingWindowSeconds;
    consume(this, 'EventSourceMapping', this.queue, consumer, {
      batchSize: BATCH_SIZE,
      batchingWindowSeconds,
      maxConcurrency,
    });
  }

  allowSend(): PolicyStatement {
    return allow(['sqs:SendMessage'], [this.queue.queueArn]);
  }

  /** Allows what a consumer needs beside the event source mapping. */
  allowConsume(): PolicyStatement[] {
    return [allow(['sqs:ChangeMessageVisibility'], [this.queue.queueArn])];
  }
}

/** The consumer sends dead letters with the reason (docs/decisions/deliveries.md#dead-letters). */
export class WorkQueueWithDeadLetters extends WorkQueue {
  /** No redrive policy points to it. */
  readonly deadLetterQueue = new Queue(this, 'DeadLetters', deadLetterQueue);

  override allowConsume(): PolicyStatement[] {
    return [...super.allowConsume(), allow(['sqs:SendMessage'], [this.deadLetterQueue.queueArn])];
  }
}

/** A destination that does not respond blocks its batch for 15 s, so retries share large batches of at most 6 MB. */
export const RETRY_BATCH_SIZE = 100;

/** AWS requires a batching window for batches of more than 10 messages. */
const RETRY_BATCHING_WINDOW_SECONDS = 5;

/**
 * The queue of a notification type and its retry queue, with the same consumer and dead-letter queue. A delivery that
 * failed is likely to fail again, and slowly, so first attempts never share a batch or concurrency with retries
 * (docs/decisions/deliveries.md#retry-queues).
 */
export class SenderQueue extends WorkQueueWithDeadLetters {
  readonly retries: Queue;
  readonly #batchingWindowSeconds: number;

  /** @param retryDelayScale scales the batching window of retries, like all retry delays */
  constructor(scope: Construct, id: string, crashedQueue: IQueue, { retryDelayScale }: { retryDelayScale: number }) {
    super(scope, id, crashedQueue);
    this.#batchingWindowSeconds = Math.max(Math.ceil(RETRY_BATCHING_WINDOW_SECONDS * retryDelayScale), 1);
    this.retries = createQueue(this, 'Retries', crashedQueue, this.#batchingWindowSeconds);
  }

  /** Adds the consumer of both queues, with `maxConcurrency` for first attempts and a quarter of it for retries. */
  override addConsumer(consumer: LambdaFunction, maxConcurrency: number | undefined): void {
    super.addConsumer(consumer, maxConcurrency);
    consume(this, 'RetriesEventSourceMapping', this.retries, consumer, {
      batchSize: RETRY_BATCH_SIZE,
      batchingWindowSeconds: this.#batchingWindowSeconds,
      maxConcurrency: maxConcurrency && retryConcurrency(maxConcurrency),
    });
  }

  override allowConsume(): PolicyStatement[] {
    const retries = allow(['sqs:SendMessage', 'sqs:ChangeMessageVisibility'], [this.retries.queueArn]);
    return [...super.allowConsume(), retries];
  }
}
