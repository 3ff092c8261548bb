import { createDailyCounters } from '../shared/adapters/accounts/daily-counter.ts';
import { createMessageLimits } from '../shared/pipeline/daily-limit.ts';
import { senderFunction } from '../shared/pipeline/sender/sender-function.ts';
import { createEmailRefusal, createEmailTransport } from '../shared/pipeline/transports/email.ts';

const { environment, client, accounts, sender } = senderFunction('email');
const counters = createDailyCounters(client, environment.ACCOUNTS_TABLE);
const limitOf = accounts.limit('emailsPerTenantPerDay', environment.TENANT_LIMITS);
const { limits, isNearLimit } = createMessageLimits(counters, 'email', limitOf);

/** Sends alerts to `email` notifications. */
export const handler = sender(createEmailTransport(environment, limits, accounts), {
  isNearLimit,
  refusalOf: createEmailRefusal(accounts),
});
