import { createOutboundClient, createSlowTenants } from '../shared/adapters/outbound-http/circuit-breaker.ts';
import { anyAddress } from '../shared/domain/egress.ts';
import { decisionsWithoutSummaries } from '../shared/pipeline/sender/decisions.ts';
import { senderFunction } from '../shared/pipeline/sender/sender.ts';
import { createRouterTransport } from '../shared/pipeline/transports/incidentrouter.ts';

const { environment, accounts, sender } = senderFunction('incidentrouter');
const slowTenants = createSlowTenants();
const http = createOutboundClient(anyAddress, slowTenants);

/** Sends alerts to `incidentrouter` notifications. */
export const handler = sender({
  isSlow: slowTenants.isSlow,
  decisions: decisionsWithoutSummaries,
  transport: createRouterTransport(accounts, http, environment.ROUTER_ENDPOINT),
});
