import { SQSClient } from '@aws-sdk/client-sqs';
import { beforeEach } from 'vitest';
import { sqsService } from '../../../../bin/local/aws/sqs/protocol.ts';
import { useStarted } from '../../../support/use-started.ts';
import { startEndpoint } from './endpoint.ts';
import { queueWithDeadLetters } from './queues.ts';

/**
 * Serves the queue `jobs` and its dead-letter queue to an SDK client for the tests of a file. Both are empty before each
 * test. Queues added to `queues` are served too.
 */
export const useServedQueues = (maxReceiveCount: number) => {
  const { clock, queue, deadLetterQueue } = queueWithDeadLetters(maxReceiveCount);
  const queues = [queue, deadLetterQueue];
  const endpoint = useStarted(
    () => startEndpoint({ sqs: sqsService(queues, clock) }),
    ({ stop }) => stop(),
  );
  const sqs = useStarted(
    () => new SQSClient({ ...endpoint.client, useQueueUrlAsEndpoint: false }),
    (client) => client.destroy(),
  );
  beforeEach(() => {
    queue.purge();
    deadLetterQueue.purge();
  });
  return { clock, queue, deadLetterQueue, queues, sqs };
};
