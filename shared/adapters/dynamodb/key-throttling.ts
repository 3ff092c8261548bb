import type { Clock } from '../../domain/clock.ts';
import { UnprocessedKeyError } from './errors.ts';

type ThrottlingError = { ThrottlingReasons?: unknown; throttlingReasons?: unknown };

const throttlingReasons = (error: Error & ThrottlingError): unknown[] => {
  const reasons = error.ThrottlingReasons ?? error.throttlingReasons;
  return Array.isArray(reasons) ? reasons : [];
};

/** Returns whether a partition was throttled, not the table or the account (DynamoDB API reference, "ThrottlingReason"). */
const isKeyRangeReason = (entry: unknown): boolean =>
  typeof entry === 'object' && entry !== null && 'reason' in entry && /KeyRange/.test(String(entry.reason));

/** Returns whether DynamoDB throttled a partition or left some keys of a batch unprocessed. */
const isKeyThrottling = (error: unknown): boolean => {
  if (error instanceof UnprocessedKeyError) return true;
  if (!(error instanceof Error)) return false;
  const reasons = throttlingReasons(error);
  return reasons.length > 0 && reasons.every(isKeyRangeReason);
};

/** Throttling of several tenants within this time counts as an outage. */
const WINDOW_MS = 5 * 60_000;

/** Returns whether DynamoDB throttles only this tenant's partition, which is no outage. */
export type IsTenantThrottled = (error: unknown, tenant: string) => boolean;

/**
 * Distinguishes a tenant that exhausts its own partition from an outage. DynamoDB reports the same reason for both, since a cold
 * table throttles every partition. Throttling of several tenants within five minutes in one execution environment is therefore an
 * outage (DECISIONS.md#throttled-partition-keys).
 */
export const createThrottlingWatch = (clock: Clock): IsTenantThrottled => {
  const throttledAt = new Map<string, number>();
  return (error, tenant) => {
    if (!isKeyThrottling(error)) return false;
    const now = clock();
    throttledAt.set(tenant, now);
    for (const [other, time] of throttledAt) if (now - time > WINDOW_MS) throttledAt.delete(other);
    return throttledAt.size === 1;
  };
};
