import { createDailyCounters } from '../shared/adapters/accounts/daily-counter.ts';
import { createOptOutKeys } from '../shared/adapters/accounts/opt-out-keys.ts';
import { createOptOuts } from '../shared/adapters/accounts/opt-outs.ts';
import { createVerifiedSending } from '../shared/pipeline/codes/verified-sending.ts';
import { createMessageLimits } from '../shared/pipeline/daily-limit.ts';
import { createOptOutRefusal } from '../shared/pipeline/opt-out/refusal.ts';
import { firstRefusal } from '../shared/pipeline/sender/first-refusal.ts';
import { senderFunction } from '../shared/pipeline/sender/sender-function.ts';
import {
  createEmailCodeTransport,
  createEmailRefusal,
  createEmailTransport,
} from '../shared/pipeline/transports/email.ts';

const { environment, client, accounts, sender } = senderFunction('email');
const counters = createDailyCounters(client, environment.ACCOUNTS_TABLE);
const limitOf = accounts.limit('emailsPerTenantPerDay', environment.TENANT_LIMITS);
const optOutKeys = createOptOutKeys(client, environment.ACCOUNTS_TABLE);
const { limits, isNearLimit } = createMessageLimits(counters, 'email', limitOf);
const optOuts = createOptOuts(client, environment.ACCOUNTS_TABLE);
const mayNotSend = firstRefusal(createEmailRefusal(accounts), createOptOutRefusal(optOuts));
const { isUnverified, sendCode } = createVerifiedSending(
  client,
  environment.RECIPIENTS_TABLE,
  limits.alerts,
  createEmailCodeTransport(environment),
  mayNotSend,
);

/** Sends alerts to `email` notifications. */
export const handler = sender(createEmailTransport(environment, limits, accounts, optOutKeys), {
  isNearLimit,
  refusalOf: firstRefusal(mayNotSend, isUnverified),
  sendCode,
});
