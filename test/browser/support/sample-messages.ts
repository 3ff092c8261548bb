import { Webhook } from 'standardwebhooks';
import type { SentMessage } from '../../../bin/local/inbox/inbox.ts';
import type { AlarmEvent, AlarmState } from '../../../shared/contracts/alarm-event.ts';
import { webhookPayload } from '../../../shared/contracts/alarm-event.ts';
import { testEvent } from '../../../shared/domain/test-event.ts';
import { atomEntry } from '../../../shared/pipeline/transports/atomfeed.ts';
import { emailMessage } from '../../../shared/pipeline/transports/email-message.ts';
import { pagerEvent } from '../../../shared/pipeline/transports/incidentpager.ts';
import { routerEvent } from '../../../shared/pipeline/transports/incidentrouter.ts';
import { operatorMessage } from '../../../shared/pipeline/transports/managed.ts';
import { alertContent, headerOf } from '../../support/events.ts';

/** An alarm event of tenant `acme` about an alarm of this name. */
export const alarm = (label: string, state: AlarmState = 'CRITICAL'): AlarmEvent => {
  const event = testEvent('acme', Date.now());
  return {
    ...event,
    details: { ...event.details, state, status: `${label} is at 97 %` },
    entity: { ...event.entity, id: 'enWeb1', label: 'web-1' },
    alarm: { id: 'alDisk', label },
  };
};

export const email = (label: string, to = 'oncall@example.com'): SentMessage => ({
  kind: 'email',
  from: 'notifications@example.com',
  to: [to],
  ...emailMessage({ event: headerOf(alarm(label)) }),
});

export const sms = (text: string, to = '+14155550100'): SentMessage => ({ kind: 'sms', to, text, attributes: {} });

/** The pager, router, feed and operators' messages about an alarm, as the service renders them. */
export const receiverMessages = (label: string): SentMessage[] => {
  const content = { ...alertContent(alarm(label)), deliveryId: 'delivery1', eventTimeMs: Date.now() };
  const json = 'application/json';
  return [
    { kind: 'incidentpager', path: '/pager', content_type: json, body: pagerEvent(content, 'key') },
    {
      kind: 'incidentrouter',
      path: '/router/api-key/routing-key',
      content_type: json,
      body: routerEvent(content),
    },
    {
      kind: 'atomfeed',
      path: '/feed',
      content_type: 'application/atom+xml;type=entry;charset=utf-8',
      body: atomEntry(content, 'databases'),
    },
    { kind: 'managed', topic: 'arn:aws:sns:us-east-1:000000000000:Operators', ...operatorMessage(content) },
  ];
};

/** The credentials of tenant `acme` in tests of the inbox alone. */
export const credentials = {
  token: 'a-webhook-token',
  secrets: ['whsec_Y3VycmVudC1zZWNyZXQ='],
  replaced: ['whsec_cmVwbGFjZWQtc2VjcmV0'],
};

/** A webhook about an alarm, and headers that make it authentic. */
export const signedWebhook = (
  label: string,
  { secret = credentials.secrets[0] ?? '', token = credentials.token, timestampMs = Date.now() } = {},
): { body: string; headers: Record<string, string> } => {
  const body = JSON.stringify(webhookPayload(alarm(label)));
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'x-monitoring-webhook-token': token,
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(timestampMs / 1000)),
      'webhook-signature': new Webhook(secret).sign('msg_1', new Date(timestampMs), body),
    },
  };
};
