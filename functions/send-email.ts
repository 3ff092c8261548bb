import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { environments } from '../shared/environment.ts';
import { createDailyLimit } from '../shared/pipeline/daily-limit.ts';
import { createSender } from '../shared/pipeline/sender/sender.ts';
import { createEmailTransport } from '../shared/pipeline/transports/email.ts';

const environment = environments['send-email'].parse(process.env);
const client = createDocumentClient();
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);
const dailyLimit = createDailyLimit(accounts, 'email', environment.DAILY_LIMIT);

/** Sends alerts to `email` notifications. */
export const handler = createSender('email', client, environment, createEmailTransport(environment, dailyLimit));
