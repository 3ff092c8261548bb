import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createOutboundClient } from '../shared/adapters/outbound-http/circuit-breaker.ts';
import { createSlowTenants } from '../shared/adapters/outbound-http/slow-tenants.ts';
import { anyAddress } from '../shared/domain/egress.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createSender } from '../shared/pipeline/sender/sender.ts';
import { createFeedTransport } from '../shared/pipeline/transports/atomfeed.ts';

const environment = parseEnvironment('send-atomfeed');
const slowTenants = createSlowTenants();
const http = createOutboundClient(anyAddress, slowTenants);
const client = createDocumentClient();
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);

/** Sends alerts to `atomfeed` notifications. */
export const handler = createSender(
  'atomfeed',
  client,
  accounts,
  environment,
  createFeedTransport(http, environment.FEED_ENDPOINT),
  { isSlowTenant: slowTenants.isSlow },
);
