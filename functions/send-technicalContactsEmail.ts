import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { environments } from '../shared/environment.ts';
import { createDailyLimit } from '../shared/pipeline/daily-limit.ts';
import { createSender } from '../shared/pipeline/sender/sender.ts';
import { createTechnicalContactsTransport } from '../shared/pipeline/transports/email.ts';

const environment = environments['send-technicalContactsEmail'].parse(process.env);
const client = createDocumentClient();
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);
const dailyLimit = createDailyLimit(accounts, 'email', environment.DAILY_LIMIT);

/** Sends alerts to the technical contacts of accounts. */
export const handler = createSender(
  'technicalContactsEmail',
  client,
  environment,
  createTechnicalContactsTransport(environment, dailyLimit, accounts),
);
