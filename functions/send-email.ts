import { createAccountRepository } from '../shared/adapters/account-repository.ts';
import { createDailyLimit } from '../shared/adapters/daily-limit.ts';
import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { emailDelivery } from '../shared/adapters/sender/email.ts';
import { createSender } from '../shared/adapters/sender/sender.ts';
import { environments } from '../shared/environment.ts';

const environment = environments['send-email'].parse(process.env);
const client = createDocumentClient();
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);
const dailyLimit = createDailyLimit(accounts, 'email', environment.DAILY_LIMIT);

/** Sends alerts to `email` notifications. */
export const handler = createSender('email', client, environment, emailDelivery(environment, dailyLimit));
