import { readFile } from 'node:fs/promises';
import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { TestProject } from 'vitest/node';
import * as z from 'zod';

const outputs = z.record(
  z.string(),
  z.object({
    BaseUrl: z.url(),
    AlarmEventsQueueUrl: z.url(),
    TokensTable: z.string(),
    AccountsTable: z.string(),
    DeliveriesTable: z.string(),
  }),
);

/** Tells the end-to-end tests how to reach the stack of `STACK_OUTPUTS`, a file of `cdk deploy`; the vitest global set-up. */
export default async function findStack(project: TestProject): Promise<void> {
  const file = z.string({ error: 'STACK_OUTPUTS must name a file of outputs' }).parse(process.env.STACK_OUTPUTS);
  const stacks = Object.entries(outputs.parse(JSON.parse(await readFile(file, 'utf8'))));
  const [[name, stack] = [], ...others] = stacks;
  if (name === undefined || stack === undefined || others.length > 0) {
    throw new Error(`${file} must hold the outputs of one stack, not of ${stacks.length}.`);
  }
  const { QueueUrls = [] } = await new SQSClient({}).send(new ListQueuesCommand({ QueueNamePrefix: `${name}-` }));
  project.provide('stack', {
    base_url: stack.BaseUrl,
    alarm_queue_url: stack.AlarmEventsQueueUrl,
    tables: [stack.TokensTable, stack.AccountsTable, stack.DeliveriesTable],
    queues: QueueUrls,
  });
}
