import { createEmailStops } from '../shared/adapters/accounts/email-stops.ts';
import { createOptOutKeys } from '../shared/adapters/accounts/opt-out-keys.ts';
import { createSummarizedAlerts } from '../shared/adapters/deliveries/summarized-alerts.ts';
import { createCounters } from '../shared/adapters/dynamodb/counters.ts';
import { createMessageLimits } from '../shared/pipeline/daily-limit.ts';
import { createEmailSender } from '../shared/pipeline/email-sender.ts';
import { createStopReports } from '../shared/pipeline/report-messages.ts';
import { deleted, refused, usualDecisions } from '../shared/pipeline/sender/decisions.ts';
import { senderFunction } from '../shared/pipeline/sender/sender.ts';
import { createSummaries } from '../shared/pipeline/sender/summarize.ts';
import { createSharedRate } from '../shared/pipeline/shared-rate.ts';
import { createEmailRefusal, createTechnicalContactsTransport } from '../shared/pipeline/transports/email.ts';

const { environment, client, accounts, dependencies, sender } = senderFunction('technicalContactsEmail');
const counters = createCounters(client, environment.ACCOUNTS_TABLE);
const limitOf = accounts.limit('emailsPerTenantPerDay', environment.TENANT_LIMITS);
const optOutKeys = createOptOutKeys(client, environment.ACCOUNTS_TABLE);
const stops = createEmailStops(client, environment.ACCOUNTS_TABLE);
const { limits, isNearLimit } = createMessageLimits(counters, 'email', limitOf);
const sharedRate = createSharedRate();
const reportStop = createStopReports(dependencies.queues, environment.REPORTS_QUEUE);
const sendEmail = createEmailSender(environment, { limits, optOutKeys, stops, accounts, reportStop, sharedRate });
const summarizedAlerts = createSummarizedAlerts(client, environment.DELIVERIES_TABLE);
const summaries = createSummaries(dependencies, summarizedAlerts, isNearLimit);

/** Sends alerts to the technical contacts of accounts. */
export const handler = sender({
  isSlow: sharedRate.isSlow,
  decisions: [
    summaries.forwarded,
    deleted,
    ...usualDecisions,
    summaries.listed(refused(createEmailRefusal(accounts))),
    summaries.read,
  ],
  transport: createTechnicalContactsTransport(sendEmail, accounts),
  endAboveLimit: summaries.listAboveLimit,
});
