import { UnprocessedKeyError } from './dynamodb-batches.ts';

type Throttled = { ThrottlingReasons?: unknown; throttlingReasons?: unknown };

const throttlingReasons = (error: Error & Throttled): unknown[] => {
  const given = error.ThrottlingReasons ?? error.throttlingReasons;
  return Array.isArray(given) ? given : [];
};

/** Of one partition, not of the table or the account (DynamoDB API reference, "ThrottlingReason"). */
const isOfKeyRange = (entry: unknown): boolean =>
  typeof entry === 'object' && entry !== null && 'reason' in entry && /KeyRange/.test(String(entry.reason));

/**
 * True where DynamoDB throttled a partition key alone, so one tenant or one notification, while the table has capacity left:
 * that is no outage.
 */
export const isKeyThrottled = (error: unknown): boolean => {
  if (error instanceof UnprocessedKeyError) return true;
  if (!(error instanceof Error)) return false;
  const reasons = throttlingReasons(error);
  return reasons.length > 0 && reasons.every(isOfKeyRange);
};
