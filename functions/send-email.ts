import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createDailyCounters } from '../shared/adapters/accounts/daily-counter.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createMessageLimits } from '../shared/pipeline/daily-limit.ts';
import { createSender } from '../shared/pipeline/sender/sender.ts';
import { createEmailTransport } from '../shared/pipeline/transports/email.ts';

const environment = parseEnvironment('send-email');
const client = createDocumentClient();
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);
const counters = createDailyCounters(client, environment.ACCOUNTS_TABLE);
const limitOf = accounts.limit('emailsPerTenantPerDay', environment.TENANT_LIMITS);
const { limits, isNearLimit } = createMessageLimits(counters, 'email', limitOf);

/** Sends alerts to `email` notifications. */
export const handler = createSender('email', client, accounts, environment, createEmailTransport(environment, limits), {
  isNearLimit,
});
