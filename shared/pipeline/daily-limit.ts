import type { LimitOf } from '../adapters/accounts/account-repository.ts';
import type { DailyCounter, DailyCounters } from '../adapters/accounts/daily-counter.ts';
import { type Failure, failed } from '../domain/attempt-outcome.ts';
import { createGatherer } from '../domain/gather.ts';
import type { Alert } from '../domain/transport.ts';

/** Counts one message of a tenant. Returns a permanent failure if the tenant has reached its limit for the UTC day. */
export type DailyLimit = (tenant: string) => Promise<Failure | undefined>;

/** Messages of a tenant within this time are counted by one write. */
const GATHER_MS = 2;

/**
 * Creates a limit on messages per tenant and UTC day, for the types that cost money or could be used to spam
 * (docs/decisions/deliveries.md#limits-against-abuse). Every attempt counts.
 *
 * @param options.canBeSummarized true if alerts above the limit are summarized, unless the limit is 0. Default: false
 */
export const createDailyLimit = (
  counters: Pick<DailyCounters, 'count'>,
  counter: DailyCounter,
  limitOf: LimitOf,
  { canBeSummarized = false } = {},
): DailyLimit => {
  const gather = createGatherer(
    (limits: readonly number[], tenant: string) => counters.count(counter, tenant, limits.length, Math.min(...limits)),
    (close) => setTimeout(close, GATHER_MS),
  );

  return async (tenant) => {
    const limit = await limitOf(tenant);
    const { values, result } = gather(tenant, limit);
    // If the whole group exceeds the limit, some of its messages may still be within it.
    const isWithinLimit = (await result) || (values.length > 1 && (await counters.count(counter, tenant, 1, limit)));
    if (isWithinLimit) return undefined;
    return failed(
      'permanent',
      'tenant_limit_exceeded',
      `The account's limit of ${limit} messages a day is reached (${counter})`,
      canBeSummarized && limit > 0 ? { canBeSummarized } : {},
    );
  };
};

/** The daily limits of a type: of alerts, of notices, and of summaries, so that none uses up the limit of another. */
export type MessageLimits = { alerts: DailyLimit; notices: DailyLimit; summaries: DailyLimit };

/** Returns the daily limit that counts an alert. */
export const limitOfAlert = ({ alerts, notices, summaries }: MessageLimits, { notice }: Alert): DailyLimit => {
  if (!notice) return alerts;
  return notice.kind === 'summary' ? summaries : notices;
};
