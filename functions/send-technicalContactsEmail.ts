import { createAccountRepository } from '../shared/adapters/account-repository.ts';
import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { technicalContactsDelivery } from '../shared/adapters/sender/email.ts';
import { createSender } from '../shared/adapters/sender/sender.ts';
import { environments } from '../shared/environment.ts';

const environment = environments['send-technicalContactsEmail'].parse(process.env);
const client = createDocumentClient();

/** Sends alerts to the technical contacts of accounts. */
export const handler = createSender(
  'technicalContactsEmail',
  client,
  environment,
  technicalContactsDelivery(environment, createAccountRepository(client, environment.ACCOUNTS_TABLE)),
);
