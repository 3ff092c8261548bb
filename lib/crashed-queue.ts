import { Duration } from 'aws-cdk-lib';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';

/** Properties of every queue: encrypted, and plain HTTP denied. */
export const encryptedQueue = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true };

/** Longer than the retention of the work queues, because a message keeps its original send time when SQS moves it. */
export const DEAD_LETTER_RETENTION = Duration.days(14);

/**
 * The queue to which SQS moves a message from any work queue after too many receives, because its function crashed or
 * timed out (docs/decisions/deliveries.md#crashed-queue). The dead-letter queues of the service are separate. A redrive
 * returns each message to its source queue.
 */
export class CrashedQueue extends Queue {
  constructor(scope: Construct, id: string) {
    super(scope, id, { ...encryptedQueue, retentionPeriod: DEAD_LETTER_RETENTION });
  }
}
