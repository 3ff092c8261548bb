import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createOutboundClient } from '../shared/adapters/outbound-http/circuit-breaker.ts';
import { createSlowTenants } from '../shared/adapters/outbound-http/slow-tenants.ts';
import { anyAddress, egressRule } from '../shared/domain/egress.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createSender } from '../shared/pipeline/sender/sender.ts';
import { createPagerTransport } from '../shared/pipeline/transports/incidentpager.ts';

const environment = parseEnvironment('send-incidentpager');
const slowTenants = createSlowTenants();
const tenantUrlClient = createOutboundClient(egressRule(environment.EGRESS_ALLOW), slowTenants);
const defaultEndpointClient = createOutboundClient(anyAddress, slowTenants);
const client = createDocumentClient();
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);

/** Sends alerts to `incidentpager` notifications. */
export const handler = createSender(
  'incidentpager',
  client,
  accounts,
  environment,
  createPagerTransport(tenantUrlClient, defaultEndpointClient, environment.PAGER_ENDPOINT),
  { isSlowTenant: slowTenants.isSlow },
);
