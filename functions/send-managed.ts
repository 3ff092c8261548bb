import { createCounters } from '../shared/adapters/dynamodb/counters.ts';
import { MAX_NOTICE_MESSAGES_PER_DAY } from '../shared/domain/notice.ts';
import { createDailyLimit } from '../shared/pipeline/daily-limit.ts';
import { decisionsWithoutSummaries } from '../shared/pipeline/sender/decisions.ts';
import { senderFunction } from '../shared/pipeline/sender/sender.ts';
import { createManagedTransport } from '../shared/pipeline/transports/managed.ts';

const { environment, client, accounts, sender } = senderFunction('managed');
const counters = createCounters(client, environment.ACCOUNTS_TABLE);
const dailyLimit = createDailyLimit(
  counters,
  'managed',
  accounts.limit('managedPerTenantPerDay', environment.TENANT_LIMITS),
);
const noticeLimit = createDailyLimit(counters, 'managed_notices', async () => MAX_NOTICE_MESSAGES_PER_DAY.managed);

/** Sends alerts to the operators of the service. */
export const handler = sender({
  isSlow: () => false,
  decisions: decisionsWithoutSummaries,
  transport: createManagedTransport(environment.MANAGED_TOPIC, dailyLimit, noticeLimit),
});
