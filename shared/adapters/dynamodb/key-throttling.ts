import type { Clock } from '../../domain/clock.ts';
import { UnprocessedKeyError } from './errors.ts';

type Throttled = { ThrottlingReasons?: unknown; throttlingReasons?: unknown };

const throttlingReasons = (error: Error & Throttled): unknown[] => {
  const given = error.ThrottlingReasons ?? error.throttlingReasons;
  return Array.isArray(given) ? given : [];
};

/** Of one partition, not of the table or the account (DynamoDB API reference, "ThrottlingReason"). */
const isOfKeyRange = (entry: unknown): boolean =>
  typeof entry === 'object' && entry !== null && 'reason' in entry && /KeyRange/.test(String(entry.reason));

/** True where DynamoDB throttled a partition, or left single keys of a batch unprocessed. */
const isOfKeys = (error: unknown): boolean => {
  if (error instanceof UnprocessedKeyError) return true;
  if (!(error instanceof Error)) return false;
  const failureReasons = throttlingReasons(error);
  return failureReasons.length > 0 && failureReasons.every(isOfKeyRange);
};

/** How long a throttled tenant is remembered, in ms. */
const WINDOW_MS = 5 * 60_000;

/** True where DynamoDB throttles the key of this tenant alone, so that it is no outage. */
export type IsTenantThrottled = (error: unknown, tenant: string) => boolean;

/**
 * Tells a tenant that exhausts its own partition from an outage: DynamoDB gives the same reason for both, as a table that is
 * cold throttles the partitions of everybody. So throttling that one sandbox sees for several tenants within five minutes is an
 * outage.
 */
export const createThrottlingWatch = (clock: Clock): IsTenantThrottled => {
  const throttledAt = new Map<string, number>();
  return (error, tenant) => {
    if (!isOfKeys(error)) return false;
    const now = clock();
    throttledAt.set(tenant, now);
    for (const [other, at] of throttledAt) if (now - at > WINDOW_MS) throttledAt.delete(other);
    return throttledAt.size === 1;
  };
};
