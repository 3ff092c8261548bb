import { createAccountRepository } from '../shared/adapters/account-repository.ts';
import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { createOutboundClient } from '../shared/adapters/outbound-http/outbound-client.ts';
import { createSender } from '../shared/adapters/sender/sender.ts';
import { webhookDelivery } from '../shared/adapters/sender/webhook.ts';
import { egressRule } from '../shared/domain/egress.ts';
import { environments } from '../shared/environment.ts';

const environment = environments['send-webhook'].parse(process.env);
const client = createDocumentClient();
const http = createOutboundClient(egressRule(environment.EGRESS_ALLOW));

/** Sends alerts to `webhook` notifications. */
export const handler = createSender(
  'webhook',
  client,
  environment,
  webhookDelivery(createAccountRepository(client, environment.ACCOUNTS_TABLE), http),
);
