import { Duration } from 'aws-cdk-lib';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue, Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { allow, ResourceAccess } from './resource-access.ts';
import { retryConcurrency } from './settings.ts';
import { WorkQueueWithDeadLetters } from './work-queue.ts';

/**
 * The maximum number of retries per invocation. A destination that does not respond blocks its batch for 15 s, so
 * retries share large batches. Lambda limits a batch to 6 MB.
 */
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
    this.retries = this.createQueue('Retries', this.#batchingWindowSeconds);
  }

  /** Adds the consumer of both queues, with `maxConcurrency` for first attempts and a quarter of it for retries. */
  override addConsumer(consumer: LambdaFunction, maxConcurrency: number | undefined): void {
    super.addConsumer(consumer, maxConcurrency);
    const retryMaximum = maxConcurrency && retryConcurrency(maxConcurrency);
    this.addEventSourceMapping('RetriesEventSourceMapping', this.retries, consumer, retryMaximum, {
      batchSize: RETRY_BATCH_SIZE,
      maxBatchingWindow: Duration.seconds(this.#batchingWindowSeconds),
    });
  }

  /**
   * Grants the consumer permission to change message visibility in both queues, and to send retries and dead letters.
   */
  override consumerAccess(): ResourceAccess<{ DEAD_LETTER_QUEUE: string; RETRY_QUEUE: string }> {
    const { queueUrl, queueArn } = this.retries;
    const statement = allow(['sqs:SendMessage', 'sqs:ChangeMessageVisibility'], [queueArn]);
    return super.consumerAccess().and(new ResourceAccess({ RETRY_QUEUE: queueUrl }, statement));
  }
}
