import type { SQSRecord } from 'aws-lambda';
import { beforeEach, expect, it, vi } from 'vitest';
import { logger } from '../../shared/adapters/logger.ts';
import { createQueueConsumer } from '../../shared/pipeline/queue-consumer.ts';
import { sqsMessage } from '../support/sqs-message.ts';

beforeEach(() => {
  vi.spyOn(logger, 'error').mockImplementation(() => undefined);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  return () => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  };
});

it('a message that takes longer than ten seconds returns to its queue alone', async () => {
  const returned: string[] = [];
  const handler = createQueueConsumer<string>({
    name: 'report-deliveries',
    queueUrl: 'https://sqs/queue',
    queues: { changeVisibility: async (_url, { messageId }: SQSRecord) => void returned.push(messageId) },
    clock: Date.now,
    parse: (body) => body,
    invalidMetric: 'invalid_messages',
    idsOf: () => ({ tenant_id: 'acme' }),
    process: async ({ body }) => (body === 'slow' ? new Promise(() => undefined) : {}),
  });
  const messages = ['slow', 'other'].map((body) => sqsMessage({ messageId: body, body }));
  const response = handler({ Records: messages });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await response).toEqual({ batchItemFailures: [{ itemIdentifier: 'slow' }] });
  expect(returned).toEqual(['slow']);
});
