import { createOutboundClient } from '../shared/adapters/outbound-http/circuit-breaker.ts';
import { createSlowTenants } from '../shared/adapters/outbound-http/slow-tenants.ts';
import { anyAddress } from '../shared/domain/egress.ts';
import { senderFunction } from '../shared/pipeline/sender/sender-function.ts';
import { createFeedTransport } from '../shared/pipeline/transports/atomfeed.ts';

const { environment, sender } = senderFunction('atomfeed');
const slowTenants = createSlowTenants();
const http = createOutboundClient(anyAddress, slowTenants);

/** Sends alerts to `atomfeed` notifications. */
export const handler = sender(createFeedTransport(http, environment.FEED_ENDPOINT), {
  isSlowTenant: slowTenants.isSlow,
});
