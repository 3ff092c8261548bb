import type { EventHeader, Fact } from '../../contracts/event-header.ts';
import type { NoticeContent } from '../../contracts/notice.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import { headline } from '../../domain/alert-text.ts';
import { dayEndMs } from '../../domain/day.ts';
import { parseDeliveryPartition } from '../../domain/delivery-key.ts';
import type { DeliveryRecord } from '../../domain/delivery-record.ts';
import { namedRecord } from '../../domain/event-header.ts';
import { incidentKey } from '../../domain/incident.ts';
import { createNotice, dailyNoticeId, type Notice } from '../../domain/notice.ts';
import { attemptsSoFar, lastFailure, named, nextAttemptMs, type UnreachedDelivery } from './notice-content.ts';

/** Returns when the alert first failed: at the first attempt of the round, or at its start if nothing was sent. */
const firstFailureMs = ({ first_attempt_at_ms, round_started_at_ms }: DeliveryRecord): number =>
  first_attempt_at_ms || round_started_at_ms;

const notificationUrl = (apiUrl: string, id: string): string => `${apiUrl}/notifications/${id}`;

const ONCE_A_DAY = 'The service sends this notice at most once a day for each notification.';

const ADVICE = 'Check the destination, then test it. If it has changed, update the notification (PUT).';

/** The option of curl that authenticates, as in docs/api.md. */
const TOKEN_HEADER = '-H "X-Auth-Token: $TOKEN"';

const testCommands = (apiUrl: string, id: string): [string, string][] => [
  ['Test the destination', `curl -X POST ${notificationUrl(apiUrl, id)}/test ${TOKEN_HEADER}`],
  ['See the delivery history', `curl ${notificationUrl(apiUrl, id)}/deliveries ${TOKEN_HEADER}`],
];

const redeliverCommand = (apiUrl: string, id: string): [string, string] => [
  'Redeliver the alerts that failed in the last 14 days',
  `curl -X POST ${notificationUrl(apiUrl, id)}/redeliver ${TOKEN_HEADER} -d '{"since":0}'`,
];

/** A delivery that is reported, with its record. */
export type ReportedDelivery = UnreachedDelivery & { record: DeliveryRecord };

/** Returns a notice about a notification, of which there is one per kind, notification and UTC day. */
const notificationNotice = (
  tenant: string,
  { notificationId, notification, record }: ReportedDelivery,
  event: EventHeader,
  lastResult: string,
  content: Pick<NoticeContent, 'subject' | 'commands'> & {
    kind: 'failing' | 'undelivered';
    paragraphs: [string, string];
  },
): Notice => {
  const facts: Fact[] = [
    ['Alert', headline(event)],
    ['Last result', lastResult],
    ['First failure', firstFailureMs(record)],
    ['Attempts so far', attemptsSoFar(record)],
    ['Next attempt', nextAttemptMs(record) ?? 'none'],
    ...(notification
      ? ([
          ['Notification', notification.label],
          ['Type', notification.type],
        ] satisfies [string, string][])
      : []),
    ['ID', notificationId],
    ['Event', event.event_id],
  ];
  return createNotice(
    tenant,
    dailyNoticeId(content.kind, tenant, notificationId, record.updated_at_ms),
    { ...content, paragraphs: [...content.paragraphs, ONCE_A_DAY], facts },
    { entity: { id: notificationId, ...(notification && { label: notification.label }) } },
  );
};

/**
 * Returns the notice that alerts of a notification fail: its destination has failed for minutes, or SES rejected the
 * content of an email.
 */
export const failingNotice = (
  tenant: string,
  apiUrl: string,
  delivery: ReportedDelivery,
  event: EventHeader,
  isContentRejected = false,
): Notice => {
  const { notificationId, notification, record } = delivery;
  const result = isContentRejected ? 'AWS rejected the content of the email' : lastFailure(record);
  const name = named(notificationId, notification);
  return notificationNotice(tenant, delivery, event, result, {
    kind: 'failing',
    subject: `Delivery to ${name} is failing`,
    paragraphs: [
      record.status === 'pending'
        ? `Alerts for the notification ${name} are failing: ${result}. The service continues to retry.`
        : `An alert for the notification ${name} did not arrive as intended: ${result}.`,
      ADVICE,
    ],
    commands: testCommands(apiUrl, notificationId),
  });
};

/** Returns the notice that an alert of a notification was dead-lettered. */
export const undeliveredNotice = (
  tenant: string,
  apiUrl: string,
  delivery: ReportedDelivery,
  event: EventHeader,
): Notice => {
  const { notificationId, notification, record } = delivery;
  const result = lastFailure(record);
  const name = named(notificationId, notification);
  return notificationNotice(tenant, delivery, event, result, {
    kind: 'undelivered',
    subject: `An alert to ${name} was not delivered`,
    paragraphs: [
      `The service stopped trying to deliver an alert to the notification ${name}: ${result}.`,
      `${ADVICE} Then redeliver.`,
    ],
    commands: [...testCommands(apiUrl, notificationId), redeliverCommand(apiUrl, notificationId)],
  });
};

/**
 * Returns the notice that alerts exceed a daily limit: one per limit and UTC day.
 *
 * @param event the alert
 * @param type the type of its notification
 */
export const limitNotice = (event: EventHeader, type: NotificationTypeId, atMs: number): Notice => {
  const { tenant_id: tenant } = event;
  const [limit, what] = type === 'sms' ? ['sms_per_day', 'SMS'] : ['emails_per_day', 'emails'];
  return createNotice(tenant, dailyNoticeId('limit', tenant, limit, atMs), {
    kind: 'limit',
    subject: `The daily limit of ${what} is reached: alerts are summarized`,
    paragraphs: [
      `The account has used its limit ${limit} of this day. Until it ends, each notification gets one summary an hour that lists the alerts above the limit.`,
      'As many summaries as alerts are sent a day. Further ones wait for the next day. GET /account shows the limits and how much of them is used. The operators of the service can raise them.',
    ],
    facts: [
      ['First alert above the limit', headline(event)],
      ['The day ends', dayEndMs(atMs)],
      ['Event', event.event_id],
    ],
  });
};

const storedRecord = (id: string, label: string | undefined): EventHeader['entity'] =>
  namedRecord({ id, ...(label !== undefined && { label }) });

/** Returns the event of a record, as far as the record stores it. A summary has got the state of its alarms. */
export const eventOfRecord = (record: DeliveryRecord): EventHeader => {
  const { event_id, state, entity_id, alarm_id, entity_label, alarm_label, alert } = record;
  const { tenant } = parseDeliveryPartition(record.pk);
  const ids = {
    tenant_id: tenant,
    entity: alert?.entity ?? storedRecord(entity_id, entity_label),
    alarm: alert?.alarm ?? storedRecord(alarm_id, alarm_label),
  };
  return {
    ...ids,
    event_id,
    state,
    incident_key: alert?.incident_key ?? incidentKey(ids),
    produced_at_ms: alert?.produced_at_ms,
    status: alert?.status,
    facts: [],
  };
};
