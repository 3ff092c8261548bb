import { createOutboundClient, createSlowTenants } from '../shared/adapters/outbound-http/circuit-breaker.ts';
import { egressRule } from '../shared/domain/egress.ts';
import { decisionsWithoutSummaries } from '../shared/pipeline/sender/decisions.ts';
import { senderFunction } from '../shared/pipeline/sender/sender.ts';
import { createWebhookTransport } from '../shared/pipeline/transports/webhook.ts';

const { environment, accounts, sender } = senderFunction('webhook');
const slowTenants = createSlowTenants();
const http = createOutboundClient(egressRule(environment.EGRESS_ALLOW), slowTenants);

/** Sends alerts to `webhook` notifications. */
export const handler = sender({
  isSlow: slowTenants.isSlow,
  decisions: decisionsWithoutSummaries,
  transport: createWebhookTransport(accounts, http, environment.HEARTBEAT_URL),
});
