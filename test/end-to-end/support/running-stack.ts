import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { TestProject } from 'vitest/node';
import * as z from 'zod';
import type { RunningStack } from '../../support/running-stack.ts';

const ready = z.strictObject({
  base_url: z.url(),
  tokens: z.strictObject({ admin: z.string(), creator: z.string(), observer: z.string(), other_admin: z.string() }),
  aws_endpoint: z.url(),
  alarm_queue_url: z.url(),
  inbox_url: z.url(),
});

declare module 'vitest' {
  export interface ProvidedContext {
    /** How tests reach the stack that runs for all of them. */
    stack: RunningStack;
  }
}

const namesOf = async (endpoint: string) => {
  const options = { endpoint, region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };
  const { TableNames = [] } = await new DynamoDBClient(options).send(new ListTablesCommand({}));
  const { QueueUrls = [] } = await new SQSClient(options).send(new ListQueuesCommand({}));
  return { tables: TableNames, queues: QueueUrls };
};

/** Runs `npm start` once for all end-to-end tests, as a process of its own; the vitest global set-up. */
export default async function runStack(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'end-to-end-'));
  const logFile = join(directory, 'stderr.log');
  const settings = ['testsPerTenantPerDay=100000', 'retryDelayScale=0.01'].flatMap((setting) => ['-c', setting]);
  const child = spawn(process.execPath, ['bin/start.ts', '--json', '--port', '0', ...settings], {
    stdio: 'pipe',
  });
  child.stderr.pipe(createWriteStream(logFile));
  const exited = once(child, 'exit');
  const [line] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    exited.then(async () => {
      throw new Error(`The stack did not start: ${await readFile(logFile, 'utf8')}`);
    }),
  ]);
  const { tokens: _, ...stack } = ready.parse(JSON.parse(z.string().parse(line)));
  project.provide('stack', { ...stack, ...(await namesOf(stack.aws_endpoint)) });
  return async () => {
    child.kill('SIGTERM');
    await exited;
    await rm(directory, { recursive: true });
  };
}
