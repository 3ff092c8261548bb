import type { EgressRule } from '../../domain/egress.ts';
import { withCircuitBreaker } from './circuit-breaker.ts';
import { createHttpClient, type HttpClient } from './http-client.ts';

/** The client by which senders reach destinations: only allowed addresses, and no origin that hangs again and again. */
export const createOutboundClient = (isAllowed: EgressRule): HttpClient =>
  withCircuitBreaker(createHttpClient({ isAllowed }));
