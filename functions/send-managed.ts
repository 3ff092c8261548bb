import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { environments } from '../shared/environment.ts';
import { createDailyLimit } from '../shared/pipeline/daily-limit.ts';
import { createSender } from '../shared/pipeline/sender/sender.ts';
import { createManagedTransport } from '../shared/pipeline/transports/managed.ts';

const environment = environments['send-managed'].parse(process.env);
const client = createDocumentClient();
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);
const dailyLimit = createDailyLimit(accounts, 'managed', environment.DAILY_LIMIT);

/** Sends alerts to the operators of the service. */
export const handler = createSender(
  'managed',
  client,
  environment,
  createManagedTransport(environment.MANAGED_TOPIC, dailyLimit),
);
