import type { AccountRecord } from '../../shared/contracts/account.ts';
import type { AlarmEvent } from '../../shared/contracts/alarm-event.ts';
import { collection } from '../../shared/contracts/collection.ts';
import type { ListedDelivery } from '../../shared/contracts/deliveries.ts';
import type { NotificationRecord } from '../../shared/contracts/notification.ts';
import {
  type NotificationTypeId,
  notificationTypeIds,
  notificationTypeRecord,
} from '../../shared/contracts/notification-types.ts';
import { defaultNotification } from '../../shared/domain/notification.ts';
import { describedTypes, exampleDetails } from './notification-types.ts';

/** A request or response body with the sentence that names it. */
export type Example = { readonly summary: string; readonly value: unknown };

/** Examples by name, as OpenAPI has them. */
export type Examples = Readonly<Record<string, Example>>;

const BASE_URL = 'https://alerts.example.com';

/** The time of all examples, ms since the epoch: 2026-11-21 21:11:18 UTC. */
export const EXAMPLE_TIME_MS = 1_795_295_478_841;

/** The ID of the request that causes an error in an example. */
export const EXAMPLE_REQUEST_ID = '6151409b-62d8-4fa3-a616-a34bad10f0ba';

/** The URL of the notification in the examples. */
export const EXAMPLE_LOCATION = `${BASE_URL}/notifications/nt01M7W08F9Z4XGJJRVYEZQFE9R1`;

const labelOf = (type: NotificationTypeId): string => describedTypes[type].label;

/** Returns an example for each notification type. */
const ofEachType = (valueFor: (type: NotificationTypeId) => unknown): Examples =>
  Object.fromEntries(notificationTypeIds.map((type) => [type, { summary: `Type ${type}`, value: valueFor(type) }]));

const notification = (type: NotificationTypeId): NotificationRecord => ({
  id: 'nt01M7W08F9Z4XGJJRVYEZQFE9R1',
  type,
  label: labelOf(type),
  details: exampleDetails(type),
  metadata: { team: 'ops' },
});

/** Returns the page of a list with one record, which is not the last page. */
const firstPage = (path: string, record: unknown, nextMarker: string) =>
  collection(
    { values: [record], next: nextMarker },
    { limit: 1, marker: null },
    { href: `${BASE_URL}${path}`, query: new URLSearchParams() },
  );

/** Returns the only page of a list. */
const onlyPage = (path: string, values: unknown[]) =>
  collection(
    { values, next: null },
    { limit: 50, marker: null },
    { href: `${BASE_URL}${path}`, query: new URLSearchParams() },
  );

const attempt = (startedAtMs: number, durationMs: number) =>
  ({
    timestamp: startedAtMs,
    result: 'transient',
    status_code: 503,
    reason: 'http_status',
    duration_ms: durationMs,
  }) as const;

const delivery: ListedDelivery = {
  event_id: `acme:enWeb1:alDisk:chDisk:${EXAMPLE_TIME_MS}:CRITICAL`,
  entity_id: 'enWeb1',
  alarm_id: 'alDisk',
  state: 'CRITICAL',
  status: 'pending',
  reason: 'http_status',
  attempts: [attempt(EXAMPLE_TIME_MS + 140, 22), attempt(EXAMPLE_TIME_MS + 5_310, 23)],
  next_attempt_at: EXAMPLE_TIME_MS + 36_000,
  created_at: EXAMPLE_TIME_MS + 111,
  updated_at: EXAMPLE_TIME_MS + 5_333,
};
const deliveryMarker = `${EXAMPLE_TIME_MS}-ca53741b6ee7fcaebe4347efc8329eb31a2ab78073dd868e187e362f13d4542e`;

const account: AccountRecord = {
  id: 'acme',
  technical_contacts: ['oncall@example.com', 'lead@example.com'],
  limits: {
    notifications: 1_000,
    tests_per_day: 200,
    redeliveries_per_day: 10_000,
    emails_per_day: 10_000,
    sms_per_day: 1_000,
    managed_per_day: 100,
    tokens: 100,
  },
  usage: {
    notifications: 1,
    tests_per_day: 2,
    redeliveries_per_day: 0,
    emails_per_day: 12,
    sms_per_day: 0,
    managed_per_day: 0,
    tokens: 3,
    day_ends_at: 1_795_305_600_000,
  },
};
const signingSecret = 'whsec_bW9uaXRvcmluZy1ub3RpZmljYXRpb25zLWV4YW1wbGU=';
const credentials = {
  webhook_token: 'zdPBWXFYshuXugqSApo0wi0ifLOtpe2IIphS4josALo',
  webhook_signing_secrets: [signingSecret],
};

const token = {
  id: 'tk01M7ZZ2AQ9MC8P6P3KH5Y23K83',
  label: 'Deploy job',
  role: 'creator',
  expires_at: EXAMPLE_TIME_MS + 90 * 86_400_000,
};

/** The bodies of requests, by the name of their schema. */
export const requestExamples = {
  NewNotification: ofEachType((type) => ({
    label: labelOf(type),
    type,
    details: exampleDetails(type),
    metadata: { team: 'ops' },
  })),
  Destination: ofEachType((type) => ({ type, details: exampleDetails(type) })),
  NotificationChanges: {
    label: { summary: 'Changes only the label', value: { label: 'On call, primary' } },
    destination: {
      summary: 'Changes the destination',
      value: { type: 'webhook', details: exampleDetails('webhook') },
    },
  },
  Redelivery: {
    event: { summary: 'One delivery', value: { event_id: delivery.event_id } },
    since: { summary: 'All failures since a time', value: { since: EXAMPLE_TIME_MS } },
    continued: {
      summary: 'The next part of a long redelivery',
      value: { since: EXAMPLE_TIME_MS, marker: `${EXAMPLE_TIME_MS}-${deliveryMarker}` },
    },
  },
  AccountChanges: {
    contacts: {
      summary: 'Replaces the technical contacts',
      value: { technical_contacts: account.technical_contacts },
    },
    token: { summary: 'Replaces the webhook token', value: { webhook_token: 'a-token-of-your-own' } },
  },
  NewToken: {
    creator: { summary: 'A token for 90 days', value: { label: token.label, role: token.role, days: 90 } },
  },
} satisfies Record<string, Examples>;

/** The bodies of successful responses, by the name of their schema. */
export const responseExamples = {
  Notification: ofEachType(notification),
  Notifications: {
    first: {
      summary: 'A page of one notification',
      value: firstPage('/notifications', notification('email'), defaultNotification.id),
    },
    last: {
      summary: 'The last page',
      value: onlyPage('/notifications', [notification('webhook'), defaultNotification]),
    },
  },
  NotificationTypes: {
    first: {
      summary: 'A page of one type',
      value: firstPage('/notification_types', notificationTypeRecord('atomfeed'), 'email'),
    },
  },
  NotificationType: {
    incidentrouter: { summary: 'A type with two fields', value: notificationTypeRecord('incidentrouter') },
    managed: { summary: 'A type without fields', value: notificationTypeRecord('managed') },
  },
  TestResult: {
    success: {
      summary: 'The destination accepted the message',
      value: { status: 'success', message: 'Success: Webhook successfully executed' },
    },
    failure: {
      summary: 'The destination failed',
      value: { status: 'failure', message: 'Unexpected status code "404". Expected one of: /2[0-9]{2}/' },
    },
  },
  Deliveries: {
    pending: {
      summary: 'A page of one pending delivery',
      value: firstPage('/notifications/nt01M7W08F9Z4XGJJRVYEZQFE9R1/deliveries', delivery, deliveryMarker),
    },
  },
  RedeliveryResult: {
    done: { summary: 'Everything was redelivered', value: { count: 1, next_marker: null } },
    more: {
      summary: 'There is more to redeliver',
      value: { count: 1_000, next_marker: `${EXAMPLE_TIME_MS}-${deliveryMarker}` },
    },
  },
  Account: {
    admin: { summary: 'For an admin', value: { ...account, ...credentials } },
    observer: { summary: 'For a creator or an observer', value: account },
  },
  SigningSecret: { rotated: { summary: 'The new secret', value: { webhook_signing_secret: signingSecret } } },
  Tokens: {
    all: { summary: 'One token', value: onlyPage('/tokens', [{ ...token, created_at: EXAMPLE_TIME_MS }]) },
  },
  CreatedToken: {
    created: { summary: 'A token for 90 days', value: { token: `mnt_${'cNXU86kEp1'.repeat(4)}cNXU86kEp`, ...token } },
  },
} satisfies Record<string, Examples>;

/** The alarm event that the example of a webhook delivers. */
export const exampleEvent: AlarmEvent = {
  event_id: delivery.event_id,
  log_entry_id: '7c8ad2f0-b0a4-11f1-8f2e-9c6f00f3a4d1',
  tenant_id: 'acme',
  details: {
    target: '/dev/xvda1',
    timestamp: EXAMPLE_TIME_MS,
    metrics: {
      used_percent: { type: 'n', data: 97.2, unit: 'percent' },
      free: { type: 'L', data: 1_181_116_006, unit: 'bytes' },
    },
    state: 'CRITICAL',
    status: 'Disk is 97 % full',
    txnid: '4b1c7a92',
    collector_address_v4: '192.0.2.10',
    collector_address_v6: '2001:db8::10',
    observations: [
      {
        monitoring_zone_id: 'mzLON',
        state: 'CRITICAL',
        status: 'Disk is 97 % full',
        timestamp: EXAMPLE_TIME_MS,
        collector_state: 'UP',
      },
    ],
  },
  entity: { id: 'enWeb1', label: 'web-1', ip_addresses: { default: '192.0.2.2' }, metadata: { role: 'web' } },
  check: { id: 'chDisk', label: 'Root disk', type: 'agent.filesystem', period: 60, timeout: 30 },
  alarm: {
    id: 'alDisk',
    label: 'Disk space',
    check_id: 'chDisk',
    entity_id: 'enWeb1',
    criteria: "if (metric['used_percent'] > 95) { return CRITICAL }",
    notification_plan_id: 'npOps',
  },
};

/** The webhook credentials in the examples. */
export const exampleCredentials = { token: credentials.webhook_token, secrets: [signingSecret] };
