import { Duration } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue, Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { ResourceAccess } from './resource-access.ts';
import { WorkQueueWithDeadLetters } from './work-queue.ts';

/**
 * Retries of one invocation. A destination that hangs holds its whole batch for 15 s, so many of them should share one
 * sandbox; where the event would burst 6 MB, Lambda itself makes the batch smaller.
 */
export const RETRY_BATCH_SIZE = 100;

/** How long a batch of retries is gathered, in seconds: nobody waits for a retry to the second. AWS wants it for more than 10. */
const RETRY_WINDOW = 5;

/** The part of a type's concurrency that its retries may take besides; 2 is the least that AWS knows. */
const retryConcurrency = (maxConcurrency: number): number => Math.max(Math.ceil(maxConcurrency / 4), 2);

/**
 * The queue of a type, and beside it one for its retries, with the same consumer and the same dead-letter queue. Whatever
 * fails once is likely to fail again, and slowly: so the living never share a batch with it, nor their concurrency.
 */
export class SenderQueue extends WorkQueueWithDeadLetters {
  readonly retries: Queue;
  readonly #retryWindow: number;

  /** @param retryDelayScale shortens the window, as it does every wait between attempts */
  constructor(scope: Construct, id: string, crashed: IQueue, { retryDelayScale }: { retryDelayScale: number }) {
    super(scope, id, crashed);
    this.#retryWindow = Math.max(Math.ceil(RETRY_WINDOW * retryDelayScale), 1);
    this.retries = this.newQueue('Retries', this.#retryWindow);
  }

  /** Feeds both queues to a function: what is new to so many batches at one time, the retries to a quarter of them besides. */
  override feed(consumer: LambdaFunction, maxConcurrency: number): void {
    super.feed(consumer, maxConcurrency);
    this.connect('RetriesSource', this.retries, consumer, {
      batchSize: RETRY_BATCH_SIZE,
      maxBatchingWindow: Duration.seconds(this.#retryWindow),
      maxConcurrency: retryConcurrency(maxConcurrency),
    });
  }

  /** Lets the consumer settle messages of both queues, and send retries. */
  override settling(): ResourceAccess<{ DEAD_LETTER_QUEUE: string; RETRY_QUEUE: string }> {
    return super.settling().and(
      new ResourceAccess({ RETRY_QUEUE: this.retries.queueUrl }, [
        new PolicyStatement({
          actions: ['sqs:SendMessage', 'sqs:ChangeMessageVisibility'],
          resources: [this.retries.queueArn],
        }),
      ]),
    );
  }
}
