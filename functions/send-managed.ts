import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createDailyCounters } from '../shared/adapters/accounts/daily-counter.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createDailyLimit } from '../shared/pipeline/daily-limit.ts';
import { MAX_NOTICE_MESSAGES_PER_DAY } from '../shared/pipeline/notices/notice-content.ts';
import { createSender } from '../shared/pipeline/sender/sender.ts';
import { createManagedTransport } from '../shared/pipeline/transports/managed.ts';

const environment = parseEnvironment('send-managed');
const client = createDocumentClient();
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);
const counters = createDailyCounters(client, environment.ACCOUNTS_TABLE);
const dailyLimit = createDailyLimit(
  counters,
  'managed',
  accounts.limit('managedPerTenantPerDay', environment.TENANT_LIMITS),
);
const noticeLimit = createDailyLimit(counters, 'managed_notices', async () => MAX_NOTICE_MESSAGES_PER_DAY.managed);

/** Sends alerts to the operators of the service. */
export const handler = createSender(
  'managed',
  client,
  accounts,
  environment,
  createManagedTransport(environment.MANAGED_TOPIC, dailyLimit, noticeLimit),
);
