import { createSummarizedAlerts } from '../shared/adapters/deliveries/summarized-alerts.ts';
import { createCounters } from '../shared/adapters/dynamodb/counters.ts';
import { createMessageLimits } from '../shared/pipeline/daily-limit.ts';
import { senderFunction } from '../shared/pipeline/sender/sender-function.ts';
import { createSummaries } from '../shared/pipeline/sender/summarize.ts';
import { createSharedRate } from '../shared/pipeline/shared-rate.ts';
import { createSmsTransport } from '../shared/pipeline/transports/sms.ts';

const { environment, client, accounts, sender } = senderFunction('sms');
const counters = createCounters(client, environment.ACCOUNTS_TABLE);
const limitOf = accounts.limit('smsPerTenantPerDay', environment.TENANT_LIMITS);
const { limits, isNearLimit } = createMessageLimits(counters, 'sms', limitOf);
const sharedRate = createSharedRate();

/** Sends alerts to `sms` notifications. */
export const handler = sender(createSmsTransport(environment, limits, sharedRate), {
  createSummaries: createSummaries(createSummarizedAlerts(client, environment.DELIVERIES_TABLE), isNearLimit),
  isSlowTenant: sharedRate.isSlow,
});
