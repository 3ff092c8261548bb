import { setTimeout as sleep } from 'node:timers/promises';
import type { DailyCounter, DailyCounters } from '../adapters/accounts/daily-counter.ts';
import { type Failure, failed } from '../domain/attempt-outcome.ts';

/** Counts one message of a tenant. Returns a permanent failure if the tenant has reached its limit for the UTC day. */
export type DailyLimit = (tenant: string) => Promise<Failure | undefined>;

/** Messages of a tenant within this time are counted by one write. */
const GATHER_MS = 2;

/**
 * Creates a limit on messages per tenant and UTC day, for the types that cost money or could be used to spam
 * (docs/decisions/deliveries.md#limits-against-abuse). Every attempt counts.
 */
export const createDailyLimit = (
  counters: Pick<DailyCounters, 'count'>,
  counter: DailyCounter,
  limit: number,
): DailyLimit => {
  const groups = new Map<string, { amount: number; isWithinLimit: Promise<boolean> }>();

  const openGroup = (tenant: string) => {
    const group = { amount: 0, isWithinLimit: Promise.resolve(false) };
    group.isWithinLimit = sleep(GATHER_MS).then(() => {
      groups.delete(tenant);
      return counters.count(counter, tenant, group.amount, limit);
    });
    groups.set(tenant, group);
    return group;
  };

  return async (tenant) => {
    const group = groups.get(tenant) ?? openGroup(tenant);
    group.amount++;
    // If the whole group exceeds the limit, some of its messages may still be within it.
    const isWithinLimit =
      (await group.isWithinLimit) || (group.amount > 1 && (await counters.count(counter, tenant, 1, limit)));
    if (isWithinLimit) return undefined;
    return failed(
      'permanent',
      'tenant_limit_exceeded',
      `The account's limit of ${limit} messages a day is reached (${counter})`,
    );
  };
};
