import { GetQueueUrlCommand, SQSClient } from '@aws-sdk/client-sqs';
import { expect, it } from 'vitest';
import { awsConfig } from '../../shared/adapters/aws-client.ts';
import { startHttp } from '../support/servers.ts';

it('an AWS client sends a request for each message of the largest batch concurrently', async () => {
  const waiting: (() => void)[] = [];
  const { url } = await startHttp((request, response) => {
    request.resume();
    waiting.push(() => response.end('{"QueueUrl":"url"}'));
    if (waiting.length === 100) for (const respond of waiting) respond();
  });
  const credentials = { accessKeyId: 'none', secretAccessKey: 'none' };
  const client = new SQSClient({
    ...awsConfig(),
    endpoint: url().href,
    region: 'local-1',
    credentials,
    maxAttempts: 1,
  });
  const calls = Array.from({ length: 100 }, () => client.send(new GetQueueUrlCommand({ QueueName: 'q' })));
  expect(await Promise.all(calls)).toHaveLength(100);
});
