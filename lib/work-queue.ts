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

/** Messages of one invocation. */
const BATCH_SIZE = 10;

/** Catches crashes only: attempts are counted in the record of a delivery. */
const MAX_RECEIVE_COUNT = 100;

/** A queue with one consumer, encrypted, refusing plain HTTP. SQS moves its messages to the crashed queue after 100 receives. */
export class WorkQueue extends Construct {
  readonly queue: Queue;
  readonly #crashed: IQueue;

  constructor(scope: Construct, id: string, crashed: IQueue) {
    super(scope, id);
    this.#crashed = crashed;
    this.queue = this.newQueue('Queue');
  }

  /** Makes a queue that redrives to the crashed queue, and whose batches may be gathered for `window` seconds. */
  protected newQueue(id: string, window = 0): Queue {
    return new Queue(this, id, {
      ...encryptedQueue,
      retentionPeriod: Duration.days(4),
      // At least six times the function's timeout, and the window (AWS), so that a message is not seen while it may still be
      // worked on.
      visibilityTimeout: Duration.seconds(FUNCTION_TIMEOUT.toSeconds() * 6 + window),
      deadLetterQueue: { queue: this.#crashed, maxReceiveCount: MAX_RECEIVE_COUNT },
    });
  }

  /**
   * Feeds the queue to a function. `maxConcurrency` limits the batches at work at one time and, unlike reserved
   * concurrency, burns no receives.
   */
  feed(consumer: LambdaFunction, maxConcurrency: number): void {
    this.connect('Source', this.queue, consumer, { batchSize: BATCH_SIZE, maxConcurrency });
  }

  /** Lets a function consume a queue, and has it invoked with what comes. */
  protected connect(id: string, queue: Queue, consumer: LambdaFunction, options: EventSourceMappingOptions): void {
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
  changingVisibility(): ResourceAccess<object> {
    return new ResourceAccess({}, [
      new PolicyStatement({ actions: ['sqs:ChangeMessageVisibility'], resources: [this.queue.queueArn] }),
    ]);
  }
}

/** A work queue whose consumer gives messages up itself, with a reason: it sends them to a dead-letter queue of its own. */
export class WorkQueueWithDeadLetters extends WorkQueue {
  /** Our own dead-letter queue: no redrive policy points to it. */
  readonly deadLetterQueue: Queue;

  constructor(scope: Construct, id: string, crashed: IQueue) {
    super(scope, id, crashed);
    this.deadLetterQueue = new Queue(this, 'DeadLetters', {
      ...encryptedQueue,
      retentionPeriod: DEAD_LETTER_RETENTION,
    });
  }

  /** Grants the consumer permission to change the visibility of messages, and to send to the dead-letter queue. */
  settling(): ResourceAccess<{ DEAD_LETTER_QUEUE: string }> {
    return this.changingVisibility().and(
      new ResourceAccess({ DEAD_LETTER_QUEUE: this.deadLetterQueue.queueUrl }, [
        new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [this.deadLetterQueue.queueArn] }),
      ]),
    );
  }
}
