import { createAccountRepository } from '../shared/adapters/accounts/account-repository.ts';
import { createDocumentClient } from '../shared/adapters/aws-client.ts';
import { createOutboundClient } from '../shared/adapters/outbound-http/circuit-breaker.ts';
import { anyAddress, egressRule } from '../shared/domain/egress.ts';
import { parseEnvironment } from '../shared/environment.ts';
import { createSender } from '../shared/pipeline/sender/sender.ts';
import { createPagerTransport } from '../shared/pipeline/transports/incidentpager.ts';

const environment = parseEnvironment('send-incidentpager');
const tenantUrlClient = createOutboundClient(egressRule(environment.EGRESS_ALLOW));
const defaultEndpointClient = createOutboundClient(anyAddress);
const client = createDocumentClient();
const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE);

/** Sends alerts to `incidentpager` notifications. */
export const handler = createSender(
  'incidentpager',
  client,
  accounts,
  environment,
  createPagerTransport(tenantUrlClient, defaultEndpointClient, environment.PAGER_ENDPOINT),
);
