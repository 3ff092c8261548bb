import { readFile } from 'node:fs/promises';
import type { TestProject } from 'vitest/node';
import * as z from 'zod';
import type { RunningStack } from '../support/running-stack.ts';

const outputs = z.record(
  z.string(),
  z.object({
    BaseUrl: z.url(),
    AlarmEventsQueueUrl: z.url(),
    TokensTable: z.string(),
    AccountsTable: z.string(),
    DeliveriesTable: z.string(),
    AuditsTable: z.string(),
    QueueUrls: z.string(),
  }),
);

/** The output `QueueUrls`: the URL of each queue, and of its retry queue and dead-letter queue if it has them. */
const queueUrls = z.record(
  z.string(),
  z.object({ queue: z.url(), retries: z.url().optional(), deadLetters: z.url().optional() }),
);

/**
 * Returns the addresses of the only stack in a file written by `cdk deploy --outputs-file`. Queues come from the
 * outputs: a name prefix would also match the queues of other stacks.
 *
 * @throws Error if the file does not contain exactly one stack
 */
const deployedAddresses = (text: string): RunningStack => {
  const stacks = Object.entries(outputs.parse(JSON.parse(text)));
  const [only, ...others] = stacks;
  if (only === undefined || others.length > 0) {
    throw new Error(`The file must contain the outputs of one stack, not of ${stacks.length}.`);
  }
  const [name, stack] = only;
  const queues = Object.entries(queueUrls.parse(JSON.parse(stack.QueueUrls)));
  return {
    base_url: stack.BaseUrl,
    stack_name: name,
    alarm_queue_url: stack.AlarmEventsQueueUrl,
    tables: [stack.TokensTable, stack.AccountsTable, stack.DeliveriesTable, stack.AuditsTable],
    queues: queues.flatMap(([, { queue, retries = [], deadLetters = [] }]) => [queue, retries, deadLetters].flat()),
    dead_letter_queues: Object.fromEntries(
      queues.flatMap(([name, { deadLetters }]) => (deadLetters === undefined ? [] : [[name, deadLetters]])),
    ),
  };
};

/** The global setup of vitest. Provides the addresses of the stack whose outputs are in the file `STACK_OUTPUTS`. */
export default async function findStack(project: TestProject): Promise<void> {
  const file = z
    .string({ error: 'STACK_OUTPUTS must be the path of an outputs file' })
    .parse(process.env.STACK_OUTPUTS);
  project.provide('stack', deployedAddresses(await readFile(file, 'utf8')));
}
