import type { HttpClient } from '../../adapters/outbound-http/http-client.ts';
import type { HttpResponses } from '../../domain/http-outcome.ts';
import type { Transport } from '../../domain/transport.ts';
import { sendByHttp } from './http-transport.ts';
import { pagerEvent } from './pager-event.ts';

/** The responses of the pager. */
export const pagerResponses: HttpResponses = {
  success: 'Success: Incident pager took the event',
  rules: [
    { status: /^200$/, result: 'delivered' },
    { status: /^(400|404)$/, result: 'permanent' },
    { status: /^(403|429)$/, result: 'throttled' },
  ],
};

/**
 * Creates the transport of `incidentpager` notifications (PagerDuty Events API v1).
 *
 * @param guarded the client with SSRF protection, for endpoints that tenants set
 * @param direct the client without SSRF protection, for `endpoint`
 * @param endpoint the operators' endpoint, for notifications without an endpoint
 */
export const createPagerTransport =
  (guarded: HttpClient, direct: HttpClient, endpoint: string): Transport =>
  (alert, { service_key: serviceKey = '', service_endpoint: tenantEndpoint }) => {
    const body = JSON.stringify(pagerEvent(alert.event, serviceKey));
    const headers = { 'content-type': 'application/json', 'user-agent': 'monitoring-notifications/1' };
    return tenantEndpoint === undefined
      ? sendByHttp(pagerResponses, direct, alert, { url: new URL(endpoint), headers, body }, 'the incident pager')
      : sendByHttp(pagerResponses, guarded, alert, { url: new URL(tenantEndpoint), headers, body });
  };
