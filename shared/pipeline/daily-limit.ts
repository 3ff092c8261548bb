import { setTimeout as pause } from 'node:timers/promises';
import type { AccountRepository, DailyCounter } from '../adapters/accounts/account-repository.ts';
import { type Failure, failed } from '../domain/attempt-outcome.ts';

/** Counts one message of a tenant; the failure, where the tenant's limit of the day is reached. */
export type DailyLimit = (tenant: string) => Promise<Failure | undefined>;

/** Messages within this time are counted in one write, in ms: a batch of one tenant costs one. */
const GATHER = 2;

/**
 * Keeps tenants within a limit of messages by UTC day (design 3, Limits against abuse): these types cost money, and bother
 * people. Every attempt counts; over the limit is permanent.
 */
export const createDailyLimit = (
  accounts: Pick<AccountRepository, 'count'>,
  counter: DailyCounter,
  limit: number,
): DailyLimit => {
  const gathered = new Map<string, { amount: number; counted: Promise<boolean> }>();

  const gather = (tenant: string) => {
    const group = { amount: 0, counted: Promise.resolve(false) };
    group.counted = pause(GATHER).then(() => {
      gathered.delete(tenant);
      return accounts.count(counter, tenant, group.amount, limit);
    });
    gathered.set(tenant, group);
    return group;
  };

  return async (tenant) => {
    const group = gathered.get(tenant) ?? gather(tenant);
    group.amount++;
    // What does not fit as a whole may fit in part.
    const isWithin = (await group.counted) || (group.amount > 1 && (await accounts.count(counter, tenant, 1, limit)));
    if (isWithin) return undefined;
    return failed(
      'permanent',
      'tenant_limit_exceeded',
      `The account's limit of ${limit} messages a day is reached (${counter})`,
    );
  };
};
