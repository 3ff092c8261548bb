import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createOutboundClient } from '../shared/adapters/outbound-http/circuit-breaker.ts';
import { createSlowTenants } from '../shared/adapters/outbound-http/slow-tenants.ts';
import { anyAddress } from '../shared/domain/egress.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createSender } from '../shared/pipeline/sender/sender.ts';
import { createRouterTransport } from '../shared/pipeline/transports/incidentrouter.ts';

const environment = parseEnvironment('send-incidentrouter');
const client = createDocumentClient();
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);
const slowTenants = createSlowTenants();
const http = createOutboundClient(anyAddress, slowTenants);

/** Sends alerts to `incidentrouter` notifications. */
export const handler = createSender(
  'incidentrouter',
  client,
  accounts,
  environment,
  createRouterTransport(accounts, http, environment.ROUTER_ENDPOINT),
  { isSlowTenant: slowTenants.isSlow },
);
