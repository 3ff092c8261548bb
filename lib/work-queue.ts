import { Duration } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import {
  EventSourceMapping,
  type EventSourceMappingOptions,
  type Function as LambdaFunction,
} from 'aws-cdk-lib/aws-lambda';
import { type IQueue, Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { DEAD_LETTER_RETENTION, encryptedQueue } from './crashed-queue.ts';
import { ResourceAccess } from './resource-access.ts';
import { FUNCTION_TIMEOUT } from './service-function.ts';

/** Messages per invocation. */
const BATCH_SIZE = 10;

/** Detects crashes only: the delivery record counts the attempts (docs/decisions/deliveries.md#crashed-queue). */
const MAX_RECEIVE_COUNT = 100;

/** An encrypted queue with one consumer. SQS moves a message to the crashed queue after 100 receives. */
export class WorkQueue extends Construct {
  readonly queue: Queue;
  readonly #crashedQueue: IQueue;

  constructor(scope: Construct, id: string, crashedQueue: IQueue) {
    super(scope, id);
    this.#crashedQueue = crashedQueue;
    this.queue = this.createQueue('Queue');
  }

  /**
   * Creates a queue that redrives to the crashed queue. `batchingWindowSeconds` is that of its event source mapping.
   */
  protected createQueue(id: string, batchingWindowSeconds = 0): Queue {
    return new Queue(this, id, {
      ...encryptedQueue,
      retentionPeriod: Duration.days(4),
      // AWS recommends six times the function timeout plus the batching window:
      // https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
      visibilityTimeout: Duration.seconds(FUNCTION_TIMEOUT.toSeconds() * 6 + batchingWindowSeconds),
      deadLetterQueue: { queue: this.#crashedQueue, maxReceiveCount: MAX_RECEIVE_COUNT },
    });
  }

  /**
   * Adds the consumer of the queue. `maxConcurrency` is the number of concurrent batches; unlike reserved concurrency,
   * reaching it does not increase receive counts. If it is undefined, Lambda decides, and polls an idle queue less
   * (docs/decisions/stack.md#development-stages).
   */
  addConsumer(consumer: LambdaFunction, maxConcurrency: number | undefined): void {
    this.addEventSourceMapping('EventSourceMapping', this.queue, consumer, {
      batchSize: BATCH_SIZE,
      ...(maxConcurrency !== undefined && { maxConcurrency }),
    });
  }

  /** Creates an event source mapping, and grants the consumer the permissions for it. */
  protected addEventSourceMapping(
    id: string,
    queue: Queue,
    consumer: LambdaFunction,
    options: EventSourceMappingOptions,
  ): void {
    consumer.addToRolePolicy(
      new PolicyStatement({
        actions: ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'],
        resources: [queue.queueArn],
      }),
    );
    new EventSourceMapping(this, id, {
      target: consumer,
      eventSourceArn: queue.queueArn,
      reportBatchItemFailures: true,
      ...options,
    });
  }

  /** Grants the consumer permission to change the visibility of messages. */
  visibilityAccess(): ResourceAccess<object> {
    return new ResourceAccess({}, [
      new PolicyStatement({ actions: ['sqs:ChangeMessageVisibility'], resources: [this.queue.queueArn] }),
    ]);
  }
}

/**
 * A work queue with a dead-letter queue, to which the consumer sends a message with the reason
 * (docs/decisions/deliveries.md#dead-letters).
 */
export class WorkQueueWithDeadLetters extends WorkQueue {
  /** No redrive policy points to it. */
  readonly deadLetterQueue: Queue;

  constructor(scope: Construct, id: string, crashedQueue: IQueue) {
    super(scope, id, crashedQueue);
    this.deadLetterQueue = new Queue(this, 'DeadLetters', {
      ...encryptedQueue,
      retentionPeriod: DEAD_LETTER_RETENTION,
    });
  }

  /** Grants the consumer permission to change the visibility of messages, and to send to the dead-letter queue. */
  consumerAccess(): ResourceAccess<{ DEAD_LETTER_QUEUE: string }> {
    return this.visibilityAccess().and(
      new ResourceAccess({ DEAD_LETTER_QUEUE: this.deadLetterQueue.queueUrl }, [
        new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [this.deadLetterQueue.queueArn] }),
      ]),
    );
  }
}
