import type { Clock } from '../../domain/clock.ts';
import { TransactionContentionError, UnprocessedKeyError } from './errors.ts';

type ThrottlingError = { ThrottlingReasons?: unknown; throttlingReasons?: unknown };

const throttlingReasons = (error: Error & ThrottlingError): unknown[] => {
  const reasons = error.ThrottlingReasons ?? error.throttlingReasons;
  return Array.isArray(reasons) ? reasons : [];
};

/**
 * Returns whether a partition was throttled, not the table or the account (DynamoDB API reference, "ThrottlingReason").
 */
const isKeyRangeReason = (entry: unknown): boolean =>
  typeof entry === 'object' && entry !== null && 'reason' in entry && /KeyRange/.test(String(entry.reason));

/**
 * Returns whether DynamoDB throttled a partition, left some keys of a batch unprocessed, or cancelled a transaction for
 * contention. The items of a transaction are those of one tenant.
 */
const isKeyThrottling = (error: unknown): boolean => {
  if (error instanceof UnprocessedKeyError || error instanceof TransactionContentionError) return true;
  if (!(error instanceof Error)) return false;
  const reasons = throttlingReasons(error);
  return (reasons.length > 0 && reasons.every(isKeyRangeReason)) || isKeyThrottling(error.cause);
};

/** If several tenants are throttled within this time, it is an outage. */
const WINDOW_MS = 5 * 60_000;

/** Returns whether DynamoDB throttles only this tenant's partition, which is not an outage. */
export type IsTenantThrottled = (error: unknown, tenant: string) => boolean;

/**
 * Distinguishes a tenant that exhausts its own partition from an outage. DynamoDB reports the same reason for both,
 * since a cold table throttles every partition. Throttling of several tenants within five minutes in one execution
 * environment is therefore an outage (docs/decisions/deliveries.md#throttled-partition-keys).
 */
export const createThrottlingWatch = (clock: Clock): IsTenantThrottled => {
  const throttledAtMs = new Map<string, number>();
  return (error, tenant) => {
    if (!isKeyThrottling(error)) return false;
    const nowMs = clock();
    throttledAtMs.set(tenant, nowMs);
    for (const [other, timeMs] of throttledAtMs) if (nowMs - timeMs > WINDOW_MS) throttledAtMs.delete(other);
    return throttledAtMs.size === 1;
  };
};
