/** How tests reach a running stack. */
export type RunningStack = {
  base_url: string;
  aws_endpoint: string;
  alarm_queue_url: string;
  inbox_url: string;
  /** Names of the tables. */
  tables: readonly string[];
  /** Addresses of the queues. */
  queues: readonly string[];
};
