import type { AccountRepository } from '../../adapters/accounts/account-repository.ts';
import type { HttpClient } from '../../adapters/outbound-http/http-client.ts';
import { headline } from '../../domain/alert-text.ts';
import type { HttpResponses } from '../../domain/http-outcome.ts';
import type { AlertMessage, Transport } from '../../domain/transport.ts';
import { type OperatorsEndpoint, sendByHttp } from './http-transport.ts';
import { webhookHeaders } from './webhook.ts';

const messageType = { OK: 'RECOVERY', WARNING: 'WARNING', CRITICAL: 'CRITICAL' } as const;

/**
 * The VictorOps REST endpoint: the webhook payload and its own fields. `entity_id` is the same from trigger to
 * recovery. Times are epoch seconds. `vo_annotate.u.` and a label begin the name of a link.
 */
export const routerEvent = (alert: AlertMessage): string => {
  const { event, payload, eventTimeMs, delayMs, alarmUrl } = alert;
  const title = headline(event, delayMs);
  const seconds = Math.floor(eventTimeMs / 1000);
  const fields = {
    message_type: messageType[event.state],
    entity_id: event.incident_key,
    entity_display_name: title,
    state_message: event.status ?? title,
    timestamp: seconds,
    state_start_time: seconds,
    monitoring_tool: 'Monitoring Notifications',
    'vo_annotate.u.Alarm': alarmUrl,
  };
  return `${payload.slice(0, -1)},${JSON.stringify(fields).slice(1)}`;
};

export const routerResponses: HttpResponses = {
  success: 'Success: Incident router took the event',
  expected: '2xx of the incident router without the result "failure" in its body',
  rules: [
    { status: /^2..$/, resultInBody: 'failure', result: 'permanent' },
    { status: /^2..$/, result: 'delivered' },
    { status: /^(400|401|403|404)$/, result: 'permanent' },
    { status: /^429$/, result: 'throttled' },
  ],
};

const operatorsEndpoint: OperatorsEndpoint = { name: 'the incident router', faults: /^5..$/ };

/** A webhook call with the keys in the path. It reads the body: the router also returns 200 for events it rejects. */
export const createRouterTransport =
  (accounts: Pick<AccountRepository, 'webhookCredentials'>, http: HttpClient, endpoint: string): Transport =>
  async (alert, { api_key: apiKey = '', routing_key: routingKey }) => {
    const { event, deliveryId } = alert;
    const credentials = await accounts.webhookCredentials(event.tenant_id);
    const path = [apiKey, ...(routingKey === undefined ? [] : [routingKey])].map(encodeURIComponent).join('/');
    const url = new URL(`${endpoint.replace(/\/$/, '')}/${path}`);
    const body = routerEvent(alert);
    const headers = webhookHeaders(credentials, deliveryId, Date.now(), body);
    const request = {
      url,
      headers,
      body,
      readBody: true,
      secrets: [apiKey, credentials.token, ...credentials.secrets],
    };
    return sendByHttp(routerResponses, http, alert, request, operatorsEndpoint);
  };
