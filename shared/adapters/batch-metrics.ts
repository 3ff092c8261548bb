import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { SQSRecord } from 'aws-lambda';
import { publish } from './metrics.ts';

/** What came of the messages of one batch. */
export type BatchOutcome = {
  /** How many were processed. */
  handled: number;
  /** Those that were not, through a failure of ours. */
  failed: readonly SQSRecord[];
};

/** When a message was sent to its queue, in ms since the epoch. */
const sentAt = ({ attributes }: SQSRecord): number => Number(attributes.SentTimestamp);

/**
 * Counts what came of a batch, zeros included, so that an alarm on them ends by itself: `internal_errors`, `handled`, and
 * `oldest_unprocessed_seconds`, which CloudWatch's own age of the oldest message leaves out once a message was received three
 * times.
 *
 * @param now ms since the epoch
 */
export const countBatch = (
  { handled, failed }: BatchOutcome,
  dimensions: Record<string, string>,
  now: number,
): void => {
  const oldest = Math.min(now, ...failed.map(sentAt));
  publish(
    [
      ['internal_errors', MetricUnit.Count, failed.length],
      ['handled', MetricUnit.Count, handled],
      ['oldest_unprocessed_seconds', MetricUnit.Seconds, Math.round((now - oldest) / 1000)],
    ],
    dimensions,
  );
};
