import { Duration } from 'aws-cdk-lib';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';

/** How every queue is made: encrypted, and refusing plain HTTP. */
export const encryptedQueue = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true };

/** How long dead-letter queues keep messages: longer than the work queues, since SQS counts from when a message was first sent. */
export const DEAD_LETTER_RETENTION = Duration.days(14);

/**
 * Where SQS moves a message that was received too often from any work queue. What is here crashed its function or made it time
 * out; it is apart from our own dead-letter queues, so that it is visible by itself. A redrive returns each message to its source.
 */
export class CrashedQueue extends Queue {
  constructor(scope: Construct, id: string) {
    super(scope, id, { ...encryptedQueue, retentionPeriod: DEAD_LETTER_RETENTION });
  }
}
