import type { HttpClient } from '../../adapters/outbound-http/http-client.ts';
import type { HttpResponses } from '../../domain/http-outcome.ts';
import type { Alert, Transport } from '../../domain/transport.ts';
import { sendByHttp } from './http-transport.ts';
import { pagerEvent, pagerEventV2 } from './pager-event.ts';

/** An endpoint with this path gets PagerDuty Events API v2, all others v1. */
const V2_PATH = '/v2/enqueue';

/** The responses of a pager that accepts events with this status. */
const responsesWith = (accepted: RegExp): HttpResponses => ({
  success: 'Success: Incident pager took the event',
  rules: [
    { status: accepted, result: 'delivered' },
    { status: /^(400|404)$/, result: 'permanent' },
    { status: /^(403|429)$/, result: 'throttled' },
  ],
});

/** The responses of PagerDuty Events API v1. */
export const pagerResponses = responsesWith(/^200$/);

/** The responses of PagerDuty Events API v2. */
export const pagerResponsesV2 = responsesWith(/^202$/);

const requestOf = ({ event, payload, eventTimeMs }: Alert, serviceKey: string, url: URL) =>
  url.pathname === V2_PATH
    ? { responses: pagerResponsesV2, body: pagerEventV2(event, payload, serviceKey, eventTimeMs) }
    : { responses: pagerResponses, body: pagerEvent(event, payload, serviceKey) };

/**
 * Creates the transport of `incidentpager` notifications (PagerDuty Events API).
 *
 * @param guarded the client with SSRF protection, for endpoints that tenants set
 * @param direct the client without SSRF protection, for `endpoint`
 * @param endpoint the operators' endpoint, for notifications without an endpoint
 */
export const createPagerTransport =
  (guarded: HttpClient, direct: HttpClient, endpoint: string): Transport =>
  (alert, { service_key: serviceKey = '', service_endpoint: tenantEndpoint }) => {
    const url = new URL(tenantEndpoint ?? endpoint);
    const { responses, body } = requestOf(alert, serviceKey, url);
    const headers = { 'content-type': 'application/json', 'user-agent': 'monitoring-notifications/1' };
    const request = { url, headers, body, secrets: [serviceKey] };
    return tenantEndpoint === undefined
      ? sendByHttp(responses, direct, alert, request, 'the incident pager')
      : sendByHttp(responses, guarded, alert, request);
  };
