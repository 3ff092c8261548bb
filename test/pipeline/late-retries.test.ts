import { describe, expect, it } from 'vitest';
import { lateRetrySeconds } from '../../shared/pipeline/sender/received-message.ts';
import { queueUrl, senderQueueUrls } from '../support/queue-urls.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const urls = { type: 'webhook', queueUrls: senderQueueUrls, retryQueueUrl: queueUrl('webhook-retries') } as const;

/** Returns a message that a tenant's alert waited for on a queue, by default that of retries. */
const waiting = (tenant: string, waitedSeconds: number, queue = 'webhook-retries') =>
  sqsMessage({
    attributes: {
      ApproximateReceiveCount: '1',
      SentTimestamp: '1000',
      SenderId: 'sender',
      ApproximateFirstReceiveTimestamp: String(1000 + 1000 * waitedSeconds),
      MessageGroupId: tenant,
    },
    eventSourceARN: `arn:aws:sqs:local-1:000000000000:${queue}`,
  });

describe('the lateness of the retries in a batch', () => {
  it('is the longest wait beyond the 15 minutes by which SQS can delay a message, in seconds', () => {
    expect(lateRetrySeconds([waiting('a', 1200), waiting('b', 1500), waiting('c', 30)], urls)).toBe(600);
  });

  it('is 0 for retries less than five minutes late', () => {
    expect(lateRetrySeconds([waiting('a', 1199), waiting('b', 1199)], urls)).toBe(0);
  });

  it('is 0 if only one tenant has late retries, because the queue is fair', () => {
    expect(lateRetrySeconds([waiting('a', 5000), waiting('a', 4000), waiting('b', 10)], urls)).toBe(0);
  });

  it('is 0 for first attempts, which have an alarm on the age of their queue', () => {
    const late = [waiting('a', 5000, 'webhook'), waiting('b', 5000, 'webhook')];
    expect(lateRetrySeconds(late, urls)).toBe(0);
  });
});
