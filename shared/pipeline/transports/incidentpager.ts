import type { HttpClient } from '../../adapters/outbound-http/http-client.ts';
import { pagerEvent } from '../../domain/pager-event.ts';
import { sendTimeoutMs, type Transport } from '../../domain/transport.ts';
import { sendByHttp } from './http-transport.ts';

/**
 * Delivers to an `incidentpager` notification (PagerDuty Events API v1).
 *
 * @param guarded for an endpoint that the user chose: the egress rule holds for it
 * @param direct for the operators' own, at `endpoint`
 */
export const createPagerTransport =
  (guarded: HttpClient, direct: HttpClient, endpoint: string): Transport =>
  ({ event, timeLeft }, { service_key: serviceKey = '', service_endpoint: own }) => {
    const body = JSON.stringify(pagerEvent(event, serviceKey));
    const headers = { 'content-type': 'application/json', 'user-agent': 'monitoring-notifications/1' };
    const request = { headers, body, timeoutMs: sendTimeoutMs(timeLeft) };
    return own === undefined
      ? sendByHttp('incidentpager', direct, { ...request, url: new URL(endpoint) }, 'the incident pager')
      : sendByHttp('incidentpager', guarded, { ...request, url: new URL(own) });
  };
