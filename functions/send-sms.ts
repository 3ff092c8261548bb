import { createSummarizedAlerts } from '../shared/adapters/deliveries/summarized-alerts.ts';
import { createCounters } from '../shared/adapters/dynamodb/counters.ts';
import { createMessageLimits } from '../shared/pipeline/daily-limit.ts';
import { deleted, usualDecisions } from '../shared/pipeline/sender/decisions.ts';
import { senderFunction } from '../shared/pipeline/sender/sender.ts';
import { createSummaries } from '../shared/pipeline/sender/summarize.ts';
import { createSharedRate } from '../shared/pipeline/shared-rate.ts';
import { createSmsTransport } from '../shared/pipeline/transports/sms.ts';

const { environment, client, accounts, dependencies, sender } = senderFunction('sms');
const counters = createCounters(client, environment.ACCOUNTS_TABLE);
const limitOf = accounts.limit('smsPerTenantPerDay', environment.TENANT_LIMITS);
const { limits, isNearLimit } = createMessageLimits(counters, 'sms', limitOf);
const sharedRate = createSharedRate();
const summarizedAlerts = createSummarizedAlerts(client, environment.DELIVERIES_TABLE);
const summaries = createSummaries(dependencies, summarizedAlerts, isNearLimit);

/** Sends alerts to `sms` notifications. */
export const handler = sender({
  isSlow: sharedRate.isSlow,
  decisions: [summaries.forwarded, deleted, ...usualDecisions, summaries.listed(), summaries.read],
  transport: createSmsTransport(environment, limits, sharedRate),
  endAboveLimit: summaries.listAboveLimit,
});
