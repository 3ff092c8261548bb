import { createAccountRepository } from '../shared/adapters/account-repository.ts';
import { createDocumentClient } from '../shared/adapters/document-client.ts';
import { createOutboundClient } from '../shared/adapters/outbound-http/outbound-client.ts';
import { routerDelivery } from '../shared/adapters/sender/incidentrouter.ts';
import { createSender } from '../shared/adapters/sender/sender.ts';
import { anyAddress } from '../shared/domain/egress.ts';
import { environments } from '../shared/environment.ts';

const environment = environments['send-incidentrouter'].parse(process.env);
const client = createDocumentClient();
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);
const http = createOutboundClient(anyAddress);

/** Sends alerts to `incidentrouter` notifications. */
export const handler = createSender(
  'incidentrouter',
  client,
  environment,
  routerDelivery(accounts, http, environment.ROUTER_ENDPOINT),
);
