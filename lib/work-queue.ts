import { Duration } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import {
  EventSourceMapping,
  type EventSourceMappingOptions,
  type Function as LambdaFunction,
} from 'aws-cdk-lib/aws-lambda';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { Access } from './access.ts';
import { FUNCTION_TIMEOUT } from './service-function.ts';

/** Messages of one invocation. */
const BATCH_SIZE = 10;

/** Catches crashes only: attempts are counted in the record of a delivery (design 3, Attempts). */
const MAX_RECEIVE_COUNT = 100;

const encrypted = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true };

/** A queue that cannot be without its dead-letter queue, encrypted, refusing plain HTTP, and what consumes it. */
export class WorkQueue extends Construct {
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.deadLetterQueue = new Queue(this, 'DeadLetters', { ...encrypted, retentionPeriod: Duration.days(14) });
    this.queue = this.newQueue('Queue');
  }

  /** A queue whose crashes end in the dead-letter queue, and whose batches may be gathered for so many seconds. */
  protected newQueue(id: string, window = 0): Queue {
    return new Queue(this, id, {
      ...encrypted,
      retentionPeriod: Duration.days(4),
      // At least six times the function's timeout, and the window (AWS), so that a message is not seen while it may still be
      // worked on.
      visibilityTimeout: Duration.seconds(FUNCTION_TIMEOUT.toSeconds() * 6 + window),
      deadLetterQueue: { queue: this.deadLetterQueue, maxReceiveCount: MAX_RECEIVE_COUNT },
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

  /** Lets the consumer let messages come again later, and bury those that never can succeed. */
  settling(): Access<{ DEAD_LETTER_QUEUE: string }> {
    return new Access({ DEAD_LETTER_QUEUE: this.deadLetterQueue.queueUrl }, [
      new PolicyStatement({ actions: ['sqs:ChangeMessageVisibility'], resources: [this.queue.queueArn] }),
      new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [this.deadLetterQueue.queueArn] }),
    ]);
  }
}
