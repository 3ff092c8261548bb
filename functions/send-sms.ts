import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createDailyCounters } from '../shared/adapters/accounts/daily-counter.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createMessageLimits } from '../shared/pipeline/daily-limit.ts';
import { createSender } from '../shared/pipeline/sender/sender.ts';
import { createSmsTransport } from '../shared/pipeline/transports/sms.ts';

const environment = parseEnvironment('send-sms');
const client = createDocumentClient();
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);
const counters = createDailyCounters(client, environment.ACCOUNTS_TABLE);
const limitOf = accounts.limit('smsPerTenantPerDay', environment.TENANT_LIMITS);
const { limits, isNearLimit } = createMessageLimits(counters, 'sms', limitOf);

/** Sends alerts to `sms` notifications. */
export const handler = createSender('sms', client, accounts, environment, createSmsTransport(environment, limits), {
  isNearLimit,
});
