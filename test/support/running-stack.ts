import type { LocalStack } from '../../bin/local/stack.ts';

/** The addresses of a running stack. */
export type RunningStack = {
  base_url: string;
  stack_name?: string;
  /** The URL of the local AWS. Undefined for a deployed stack: the environment configures its clients. */
  aws_endpoint?: string;
  alarm_queue_url: string;
  /** The URL of the inbox of a local stack. */
  inbox_url?: string;
  tables: readonly string[];
  queues: readonly string[];
  /** Dead-letter queue URLs of a deployed stack, by key of `QueueUrls`. Those of a local stack are found by name. */
  dead_letter_queues?: Readonly<Record<string, string>>;
};

/** Returns the addresses of a local stack in this process. */
export const addressesOf = ({ ready, plan }: Pick<LocalStack, 'ready' | 'plan'>): RunningStack => ({
  ...ready,
  tables: plan.tables.map(({ name }) => name),
  queues: plan.queues.map(({ url }) => url),
});
