import { SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeEach } from 'vitest';
import { sqsService } from '../../../../bin/local/aws/sqs/protocol.ts';
import { startEndpoint } from './endpoint.ts';
import { queueWithDeadLetters } from './queues.ts';

/**
 * Serves the queue `jobs` and its dead-letter queue to an SDK client for the tests of a file. Both are empty before each
 * test. Queues added to `queues` are served too.
 */
export const useServedQueues = async (maxReceiveCount: number) => {
  const { clock, queue, deadLetterQueue } = queueWithDeadLetters(maxReceiveCount);
  const queues = [queue, deadLetterQueue];
  const endpoint = await startEndpoint({ sqs: sqsService(queues, clock) });
  const sqs = new SQSClient({ ...endpoint.client, useQueueUrlAsEndpoint: false });
  beforeEach(() => {
    queue.purge();
    deadLetterQueue.purge();
  });
  afterAll(async () => {
    sqs.destroy();
    await endpoint.stop();
  });
  return { clock, queue, deadLetterQueue, queues, sqs };
};
