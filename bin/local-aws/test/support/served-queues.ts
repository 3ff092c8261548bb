import { SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { sqsService } from '../../sqs/protocol.ts';
import { startEndpoint, type TestEndpoint } from './endpoint.ts';
import { queueWithDeadLetters } from './queues.ts';

/**
 * Serves the queue `jobs` and its dead-letter queue to an SDK client for the tests of a file. Both are empty before
 * each test. Queues added to `queues` are served too.
 */
export const useServedQueues = (maxReceiveCount: number) => {
  const { clock, queue, deadLetterQueue } = queueWithDeadLetters(maxReceiveCount);
  const queues = [queue, deadLetterQueue];
  let endpoint: TestEndpoint;
  const sqs = new SQSClient({
    endpoint: async () => ({ url: new URL(endpoint.client.endpoint) }),
    region: 'us-east-1',
    credentials: { accessKeyId: 'local-test', secretAccessKey: 'local' },
    maxAttempts: 1,
    useQueueUrlAsEndpoint: false,
  });
  beforeAll(async () => {
    endpoint = await startEndpoint({ sqs: sqsService(queues) });
  });
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
