import type { HttpClient } from '../../adapters/outbound-http/http-client.ts';
import { pagerEvent } from '../../domain/pager-event.ts';
import { sendTimeoutMs, type Transport } from '../../domain/transport.ts';
import { sendByHttp } from './http-transport.ts';

/**
 * Creates the transport of `incidentpager` notifications (PagerDuty Events API v1).
 *
 * @param guarded the client with SSRF protection, for endpoints that tenants set
 * @param direct the client without SSRF protection, for `endpoint`
 * @param endpoint the operators' endpoint, for notifications without an endpoint
 */
export const createPagerTransport =
  (guarded: HttpClient, direct: HttpClient, endpoint: string): Transport =>
  ({ event, timeLeft }, { service_key: serviceKey = '', service_endpoint: tenantEndpoint }) => {
    const body = JSON.stringify(pagerEvent(event, serviceKey));
    const headers = { 'content-type': 'application/json', 'user-agent': 'monitoring-notifications/1' };
    const request = { headers, body, timeoutMs: sendTimeoutMs(timeLeft) };
    return tenantEndpoint === undefined
      ? sendByHttp('incidentpager', direct, { ...request, url: new URL(endpoint) }, 'the incident pager')
      : sendByHttp('incidentpager', guarded, { ...request, url: new URL(tenantEndpoint) });
  };
