import { createOutboundClient, createSlowTenants } from '../shared/adapters/outbound-http/circuit-breaker.ts';
import { anyAddress } from '../shared/domain/egress.ts';
import { decisionsWithoutSummaries } from '../shared/pipeline/sender/decisions.ts';
import { senderFunction } from '../shared/pipeline/sender/sender.ts';
import { createFeedTransport } from '../shared/pipeline/transports/atomfeed.ts';

const { environment, sender } = senderFunction('atomfeed');
const slowTenants = createSlowTenants();
const http = createOutboundClient(anyAddress, slowTenants);

/** Sends alerts to `atomfeed` notifications. */
export const handler = sender({
  isSlow: slowTenants.isSlow,
  decisions: decisionsWithoutSummaries,
  transport: createFeedTransport(http, environment.FEED_ENDPOINT),
});
