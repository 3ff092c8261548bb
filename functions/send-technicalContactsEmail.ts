import { createDailyCounters } from '../shared/adapters/accounts/daily-counter.ts';
import { createOptOutKeys } from '../shared/adapters/accounts/opt-out-keys.ts';
import { createOptOuts } from '../shared/adapters/accounts/opt-outs.ts';
import { createMessageLimits } from '../shared/pipeline/daily-limit.ts';
import { senderFunction } from '../shared/pipeline/sender/sender-function.ts';
import { createTechnicalContactsTransport } from '../shared/pipeline/transports/email.ts';

const { environment, client, accounts, sender } = senderFunction('technicalContactsEmail');
const counters = createDailyCounters(client, environment.ACCOUNTS_TABLE);
const limitOf = accounts.limit('emailsPerTenantPerDay', environment.TENANT_LIMITS);
const optOutKeys = createOptOutKeys(client, environment.ACCOUNTS_TABLE);
const optOuts = createOptOuts(client, environment.ACCOUNTS_TABLE);
const { limits, isNearLimit } = createMessageLimits(counters, 'email', limitOf);

const transport = createTechnicalContactsTransport(environment, limits, accounts, optOutKeys, optOuts);

/** Sends alerts to the technical contacts of accounts. */
export const handler = sender(transport, { isNearLimit });
