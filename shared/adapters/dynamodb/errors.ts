import type { Clock } from '../../domain/time.ts';
import type { WriteRequest } from './items.ts';

/** Marks an error as throttling for the AWS SDK, so that `isDependencyFailure` and `isThrottled` apply. */
const throttling = { throttling: true } as const;

/** DynamoDB left a key unprocessed twice, so it is unknown whether its item exists. */
export class UnprocessedKeyError extends Error {
  override readonly name = 'UnprocessedKeyError';
  readonly $retryable = throttling;

  constructor() {
    super('DynamoDB left the key unprocessed twice.');
  }
}

export class UnprocessedItemsError extends Error {
  override readonly name = 'UnprocessedItemsError';
  readonly $retryable = throttling;
  readonly requests: readonly WriteRequest[];

  constructor(requests: readonly WriteRequest[]) {
    super(`DynamoDB left ${requests.length} items unprocessed.`);
    this.requests = requests;
  }
}

/** Other transactions used the items of a write in every attempt, or the items of a transaction were throttled. */
export class TransactionContentionError extends Error {
  override readonly name = 'TransactionContentionError';
  readonly $retryable = throttling;

  constructor(cause: unknown) {
    super('The items are used by other transactions, or throttled.', { cause });
  }
}

/** The responses to all copies of a transaction were lost. */
export class UnconfirmedChangeError extends Error {
  override readonly name = 'UnconfirmedChangeError';

  constructor(cause: unknown) {
    super('It is unknown whether the change was applied.', { cause });
  }
}

type ThrottlingError = { ThrottlingReasons?: unknown; throttlingReasons?: unknown };

const throttlingReasons = (error: Error & ThrottlingError): unknown[] => {
  const reasons = error.ThrottlingReasons ?? error.throttlingReasons;
  return Array.isArray(reasons) ? reasons : [];
};

/** Of a partition, not the table or the account (DynamoDB API reference, "ThrottlingReason"). */
const isKeyRangeReason = (entry: unknown): boolean =>
  typeof entry === 'object' && entry !== null && 'reason' in entry && /KeyRange/.test(String(entry.reason));

/** Returns whether a partition is throttled. The items of a transaction are those of one tenant. */
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
 * A cold table throttles every partition for the same reason as a tenant its own one: throttling of several tenants
 * within five minutes is an outage (docs/decisions/deliveries.md#throttled-partition-keys).
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
