import { createAccountRepository } from '../shared/adapters/account-repository.ts';
import { createDailyLimit } from '../shared/adapters/daily-limit.ts';
import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { createSender } from '../shared/adapters/sender/sender.ts';
import { smsDelivery } from '../shared/adapters/sender/sms.ts';
import { environments } from '../shared/environment.ts';

const environment = environments['send-sms'].parse(process.env);
const client = createDocumentClient();
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);
const dailyLimit = createDailyLimit(accounts, 'sms', environment.DAILY_LIMIT);

/** Sends alerts to `sms` notifications. */
export const handler = createSender('sms', client, environment, smsDelivery(environment, dailyLimit));
