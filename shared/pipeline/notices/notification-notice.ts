import type { AlarmEvent } from '../../contracts/alarm-event.ts';
import type { EventHeader, Fact } from '../../contracts/event-header.ts';
import { headline } from '../../domain/alert-text.ts';
import { DAY_MS } from '../../domain/day.ts';
import { parseDeliveryPartition } from '../../domain/delivery-key.ts';
import type { Notice } from '../../domain/delivery-message.ts';
import type { DeliveryRecord } from '../../domain/delivery-record.ts';
import { namedRecord } from '../../domain/event-header.ts';
import { incidentKey } from '../../domain/incident.ts';
import {
  attemptsSoFar,
  contentOf,
  lastFailure,
  named,
  nextAttemptMs,
  startOf,
  type UnreachedDelivery,
} from './notice-content.ts';

/** Returns when the alert first failed: at the first attempt of the round, or at its start if nothing was sent. */
const firstFailureMs = ({ first_attempt_at_ms, round_started_at_ms }: DeliveryRecord): number =>
  first_attempt_at_ms || round_started_at_ms;

/**
 * Returns the event that identifies a notice about a notification: one per kind, notification and UTC day. The time in
 * its ID is the start of the day, so a repeated notice is a duplicate.
 */
const noticeEvent = (
  kind: 'failing' | 'undelivered',
  tenant: string,
  { notificationId, notification }: UnreachedDelivery,
  atMs: number,
  status: string,
): AlarmEvent => ({
  event_id: notificationNoticeId(kind, tenant, notificationId, atMs),
  tenant_id: tenant,
  details: { state: 'WARNING', status },
  entity: { id: notificationId, ...(notification && { label: notification.label }) },
  alarm: { id: kind },
});

/** Returns the event ID of a notice about a notification. */
export const notificationNoticeId = (
  kind: 'failing' | 'undelivered',
  tenant: string,
  notificationId: string,
  atMs: number,
): string => `${tenant}:${notificationId}:${startOf(DAY_MS, atMs)}:${kind}`;

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

const deliveryFacts = (
  { notificationId, notification }: UnreachedDelivery,
  event: EventHeader,
  record: DeliveryRecord,
  lastResult: string,
): Fact[] => [
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

/** A delivery that is reported, with its record. */
export type ReportedDelivery = UnreachedDelivery & { record: DeliveryRecord };

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
  const subject = `Delivery to ${name} is failing`;
  return {
    event: noticeEvent('failing', tenant, delivery, record.updated_at_ms, subject),
    content: contentOf(
      'failing',
      subject,
      [
        record.status === 'pending'
          ? `Alerts for the notification ${name} are failing: ${result}. The service continues to retry.`
          : `An alert for the notification ${name} did not arrive as intended: ${result}.`,
        ADVICE,
        ONCE_A_DAY,
      ],
      deliveryFacts(delivery, event, record, result),
      testCommands(apiUrl, notificationId),
    ),
  };
};

/** Returns the notice that an alert of a notification was dead-lettered. */
export const undeliveredNotice = (
  tenant: string,
  apiUrl: string,
  delivery: ReportedDelivery,
  event: EventHeader,
): Notice => {
  const { notificationId, notification, record } = delivery;
  const name = named(notificationId, notification);
  const subject = `An alert to ${name} was not delivered`;
  return {
    event: noticeEvent('undelivered', tenant, delivery, record.updated_at_ms, subject),
    content: contentOf(
      'undelivered',
      subject,
      [
        `The service stopped trying to deliver an alert to the notification ${name}: ${lastFailure(record)}.`,
        `${ADVICE} Then redeliver.`,
        ONCE_A_DAY,
      ],
      deliveryFacts(delivery, event, record, lastFailure(record)),
      [...testCommands(apiUrl, notificationId), redeliverCommand(apiUrl, notificationId)],
    ),
  };
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
