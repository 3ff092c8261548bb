import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createDailyCounters } from '../shared/adapters/accounts/daily-counter.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createDailyLimit } from '../shared/pipeline/daily-limit.ts';
import { MAX_NOTICE_MESSAGES_PER_DAY } from '../shared/pipeline/notices/notice-content.ts';
import { createSender } from '../shared/pipeline/sender/sender.ts';
import { createEmailTransport } from '../shared/pipeline/transports/email.ts';

const environment = parseEnvironment('send-email');
const client = createDocumentClient();
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);
const counters = createDailyCounters(client, environment.ACCOUNTS_TABLE);
const dailyLimit = createDailyLimit(
  counters,
  'email',
  accounts.limit('emailsPerTenantPerDay', environment.TENANT_LIMITS),
);
const noticeLimit = createDailyLimit(counters, 'email_notices', async () => MAX_NOTICE_MESSAGES_PER_DAY.email);

/** Sends alerts to `email` notifications. */
export const handler = createSender(
  'email',
  client,
  accounts,
  environment,
  createEmailTransport(environment, dailyLimit, noticeLimit),
);
