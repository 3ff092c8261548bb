import { createAccountRepository } from '../shared/adapters/account-repository.ts';
import { createDailyLimit } from '../shared/adapters/daily-limit.ts';
import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { managedDelivery } from '../shared/adapters/sender/managed.ts';
import { createSender } from '../shared/adapters/sender/sender.ts';
import { environments } from '../shared/environment.ts';

const environment = environments['send-managed'].parse(process.env);
const client = createDocumentClient();
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);
const dailyLimit = createDailyLimit(accounts, 'managed', environment.DAILY_LIMIT);

/** Sends alerts to the operators of the service. */
export const handler = createSender(
  'managed',
  client,
  environment,
  managedDelivery(environment.MANAGED_TOPIC, dailyLimit),
);
