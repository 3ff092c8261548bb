import type { LocalStack } from '../../bin/local/stack.ts';

/** How tests reach a running stack. */
export type RunningStack = {
  base_url: string;
  /** The local AWS. A deployed stack is reached as the environment says (region, credentials). */
  aws_endpoint?: string;
  alarm_queue_url: string;
  /** Where all that is sent can be seen. A deployed stack has none, nor does it reach a test's own server. */
  inbox_url?: string;
  /** Names of the tables. */
  tables: readonly string[];
  /** URLs of the queues. */
  queues: readonly string[];
  /** URLs of the dead-letter queues by the names of the output `QueueUrls`; a local stack's queues are found by their names. */
  dead_letter_queues?: Readonly<Record<string, string>>;
};

/** How tests reach a stack that runs in their own process. */
export const reachable = ({ ready, plan }: Pick<LocalStack, 'ready' | 'plan'>): RunningStack => ({
  ...ready,
  tables: plan.tables.map(({ name }) => name),
  queues: plan.queues.map(({ url }) => url),
});
