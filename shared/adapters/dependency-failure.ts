import { isServerError, isThrottlingError, isTransientError } from '@smithy/core/retry';
import { UnprocessedKeyError } from './dynamodb-batches.ts';

type SdkError = Parameters<typeof isTransientError>[0];

const isSdkError = (error: unknown): error is SdkError =>
  error instanceof Error && (error.cause === undefined || error.cause instanceof Error);

/** True where a dependency throttled us, failed, or could not be reached, as the AWS SDK classifies its errors. */
export const isDependencyFailure = (error: unknown): boolean =>
  isSdkError(error) && (isThrottlingError(error) || isTransientError(error) || isServerError(error));

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
