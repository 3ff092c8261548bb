import type { HttpClient } from '../../adapters/outbound-http/http-client.ts';
import type { HttpResponses } from '../../domain/http-outcome.ts';
import type { Transport } from '../../domain/transport.ts';
import { type OperatorsEndpoint, sendByHttp } from './http-transport.ts';
import { pagerEvent, pagerEventV2 } from './pager-event.ts';

/** An endpoint whose path ends like this gets PagerDuty Events API v2, all others v1. */
const V2_PATH = /\/v2\/enqueue\/?$/;

/** The responses of both versions of the PagerDuty Events API, and of services that offer one of them. */
export const pagerResponses: HttpResponses = {
  success: 'Success: Incident pager took the event',
  expected: '2xx of the incident pager',
  rules: [
    { status: /^2..$/, result: 'delivered' },
    { status: /^(400|404)$/, result: 'permanent' },
    { status: /^(403|429)$/, result: 'throttled' },
  ],
};

const operatorsEndpoint: OperatorsEndpoint = { name: 'the incident pager', faults: /^5..$/ };

/** PagerDuty Events API, with SSRF protection for endpoints that tenants set, `direct` for that of the operators. */
export const createPagerTransport =
  (guarded: HttpClient, direct: HttpClient, endpoint: string): Transport =>
  (alert, { service_key: serviceKey = '', service_endpoint: tenantEndpoint }) => {
    const url = new URL(tenantEndpoint ?? endpoint);
    const body = V2_PATH.test(url.pathname) ? pagerEventV2(alert, serviceKey) : pagerEvent(alert, serviceKey);
    const headers = { 'content-type': 'application/json', 'user-agent': 'monitoring-notifications/1' };
    const request = { url, headers, body, secrets: [serviceKey] };
    return tenantEndpoint === undefined
      ? sendByHttp(pagerResponses, direct, alert, request, operatorsEndpoint)
      : sendByHttp(pagerResponses, guarded, alert, request);
  };
