import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createOutboundClient } from '../shared/adapters/outbound-http/circuit-breaker.ts';
import { createSlowTenants } from '../shared/adapters/outbound-http/slow-tenants.ts';
import { egressRule } from '../shared/domain/egress.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createSender } from '../shared/pipeline/sender/sender.ts';
import { createWebhookTransport } from '../shared/pipeline/transports/webhook.ts';

const environment = parseEnvironment('send-webhook');
const client = createDocumentClient();
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);
const slowTenants = createSlowTenants();
const http = createOutboundClient(egressRule(environment.EGRESS_ALLOW), slowTenants);

/** Sends alerts to `webhook` notifications. */
export const handler = createSender(
  'webhook',
  client,
  accounts,
  environment,
  createWebhookTransport(accounts, http, environment.HEARTBEAT_URL),
  { isSlowTenant: slowTenants.isSlow },
);
