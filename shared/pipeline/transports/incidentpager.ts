import type { HttpClient } from '../../adapters/outbound-http/http-client.ts';
import type { AlarmState } from '../../contracts/alarm-event.ts';
import { headline, LINK_TEXT, oneLine, truncate, truncateUnits } from '../../domain/alert-text.ts';
import type { HttpResponses } from '../../domain/http-outcome.ts';
import type { Alert, AlertMessage, Transport } from '../../domain/transport.ts';
import { type OperatorsEndpoint, sendByHttp } from './http-transport.ts';

/** The maximum length of a description (Events API v1, in code points) and of a summary (v2, in UTF-16 units). */
const MAX_SUMMARY_LENGTH = 1_024;
/** Labels of entities have no maximum length. In code points. */
const MAX_SOURCE_LENGTH = 255;

const CLIENT = 'Monitoring Notifications';

const severities: Readonly<Record<AlarmState, string>> = { CRITICAL: 'critical', WARNING: 'warning', OK: 'info' };

const summaryOf = ({ event, delayMs }: Pick<Alert, 'event' | 'delayMs'>): string => {
  const status = event.status === undefined ? '' : `: ${oneLine(event.status)}`;
  return truncate(headline(event, delayMs) + status, MAX_SUMMARY_LENGTH);
};

/** With one more field, whose value is JSON already: large values are neither parsed nor serialized again. */
const withRawField = (fields: Readonly<Record<string, unknown>>, name: string, json: string): string =>
  `${JSON.stringify(fields).slice(0, -1)},"${name}":${json}}`;

/** CRITICAL and WARNING trigger the incident, OK resolves it. 256 KiB stay below PagerDuty's limit of 512 KB. */
export const pagerEvent = (alert: Omit<AlertMessage, 'eventTimeMs'>, serviceKey: string): string => {
  const { event, payload, alarmUrl } = alert;
  const isOk = event.state === 'OK';
  const fields = {
    service_key: serviceKey,
    incident_key: event.incident_key,
    event_type: isOk ? 'resolve' : 'trigger',
    ...(!isOk && { description: summaryOf(alert), client: CLIENT, client_url: alarmUrl }),
  };
  return withRawField(fields, 'details', payload);
};

export const pagerEventV2 = (alert: AlertMessage, serviceKey: string): string => {
  const { event, payload, eventTimeMs, alarmUrl } = alert;
  const { state, entity } = event;
  const isOk = state === 'OK';
  const fields = {
    routing_key: serviceKey,
    dedup_key: event.incident_key,
    event_action: isOk ? 'resolve' : 'trigger',
    ...(!isOk && { client: CLIENT, client_url: alarmUrl }),
    ...(!isOk && alarmUrl !== undefined && { links: [{ href: alarmUrl, text: LINK_TEXT }] }),
  };
  const details = {
    // UTF-16 units are the strictest reading of "characters".
    summary: truncateUnits(summaryOf(alert), MAX_SUMMARY_LENGTH),
    source: truncate(entity.name ?? 'unknown', MAX_SOURCE_LENGTH),
    severity: severities[state],
    timestamp: new Date(eventTimeMs).toISOString(),
  };
  return withRawField(fields, 'payload', withRawField(details, 'custom_details', payload));
};

/** An endpoint whose path ends like this gets PagerDuty Events API v2, all others v1. */
const V2_PATH = /\/v2\/enqueue\/?$/;

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
