import { createOutboundClient, createSlowTenants } from '../shared/adapters/outbound-http/circuit-breaker.ts';
import { anyAddress, egressRule } from '../shared/domain/egress.ts';
import { decisionsWithoutSummaries } from '../shared/pipeline/sender/decisions.ts';
import { senderFunction } from '../shared/pipeline/sender/sender.ts';
import { createPagerTransport } from '../shared/pipeline/transports/incidentpager.ts';

const { environment, sender } = senderFunction('incidentpager');
const slowTenants = createSlowTenants();
const tenantUrlClient = createOutboundClient(egressRule(environment.EGRESS_ALLOW), slowTenants);
const defaultEndpointClient = createOutboundClient(anyAddress, slowTenants);

/** Sends alerts to `incidentpager` notifications. */
export const handler = sender({
  isSlow: slowTenants.isSlow,
  decisions: decisionsWithoutSummaries,
  transport: createPagerTransport(tenantUrlClient, defaultEndpointClient, environment.PAGER_ENDPOINT),
});
