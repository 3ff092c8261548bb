import { createDailyCounters } from '../shared/adapters/accounts/daily-counter.ts';
import { createRecipients } from '../shared/adapters/accounts/recipients.ts';
import { createMessageLimits } from '../shared/pipeline/daily-limit.ts';
import { senderFunction } from '../shared/pipeline/sender/sender-function.ts';
import { createUnverifiedRecipients } from '../shared/pipeline/sender/unverified-recipients.ts';
import { createTechnicalContactsTransport } from '../shared/pipeline/transports/email.ts';

const { environment, client, accounts, sender } = senderFunction('technicalContactsEmail');
const counters = createDailyCounters(client, environment.ACCOUNTS_TABLE);
const limitOf = accounts.limit('emailsPerTenantPerDay', environment.TENANT_LIMITS);
const { limits, isNearLimit } = createMessageLimits(counters, 'email', limitOf);
const { RECIPIENTS_TABLE } = environment;
const unverified =
  RECIPIENTS_TABLE === undefined ? undefined : createUnverifiedRecipients(createRecipients(client, RECIPIENTS_TABLE));

/** Sends alerts to the technical contacts of accounts. */
export const handler = sender(createTechnicalContactsTransport(environment, limits, accounts, unverified), {
  isNearLimit,
});
