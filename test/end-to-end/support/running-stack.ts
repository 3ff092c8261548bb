import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { TestProject } from 'vitest/node';
import { startLocalStackProcess } from '../../support/local-stack-process.ts';
import type { RunningStack } from '../../support/running-stack.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    stack: RunningStack;
  }
}

const listResources = async (endpoint: string): Promise<Pick<RunningStack, 'tables' | 'queues'>> => {
  const options = { endpoint, region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };
  const { TableNames = [] } = await new DynamoDBClient(options).send(new ListTablesCommand({}));
  const { QueueUrls = [] } = await new SQSClient(options).send(new ListQueuesCommand({}));
  return { tables: TableNames, queues: QueueUrls };
};

/** The global setup of vitest: starts one local stack in its own process for all end-to-end tests. */
export default async function runStack(project: TestProject): Promise<() => Promise<void>> {
  const {
    tokens: _,
    stop,
    ...stack
  } = await startLocalStackProcess({
    testsPerTenantPerDay: '100000',
    retryDelayScale: '0.01',
    // Fewer cold starts than with the defaults.
    senderConcurrency: '2',
    senderConcurrencyByType: 'webhook=4',
    dispatchConcurrency: '2',
  });
  project.provide('stack', { ...stack, ...(await listResources(stack.aws_endpoint)) });
  return () => stop();
}
