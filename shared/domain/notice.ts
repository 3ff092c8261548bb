import type { AlarmEvent } from '../contracts/alarm-event.ts';
import type { NoticeContent, NoticeKind } from '../contracts/notice.ts';
import type { NotificationRecord } from '../contracts/notification.ts';
import { headline, nameOf, oneLine, statusText, truncate } from './alert-text.ts';
import type { Notice } from './delivery-message.ts';
import { type DeliveryRecord, reasonOf, shortenedId } from './delivery-record.ts';
import { failureText } from './failure-text.ts';
import { incidentKey } from './incident.ts';
import { MAX_ATTEMPTS } from './retry-schedule.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** In code points. Values come from events and labels, which may be long. */
const MAX_VALUE_LENGTH = 1_000;

/** Returns the text of a notice, with every part in one line, so that no value can imitate another part. */
const contentOf = (
  kind: NoticeKind,
  subject: string,
  paragraphs: readonly string[],
  facts: readonly (readonly [name: string, value: string])[],
): NoticeContent => ({
  kind,
  subject: oneLine(subject),
  paragraphs: paragraphs.map(oneLine),
  facts: facts.map(([name, value]) => [oneLine(name), truncate(oneLine(value), MAX_VALUE_LENGTH)]),
});

/** Returns the start of the UTC hour or day that contains a time, in ms since the epoch. */
const startOf = (lengthMs: number, timeMs: number): number => timeMs - (timeMs % lengthMs);

/** A notification as notices name it, or undefined if it was deleted or cannot be read. */
type Notification = Pick<NotificationRecord, 'label' | 'type'> | undefined;

/** A delivery that has not arrived, and what notices say about it. */
export type UnreachedDelivery = {
  notificationId: string;
  notification: Notification;
  /** Undefined if the notification was deleted before the delivery was attempted. */
  record: DeliveryRecord | undefined;
};

/** Labels may have 255 characters; email clients truncate subjects. */
const MAX_LABEL_LENGTH = 80;

const time = (timeMs: number): string => new Date(timeMs).toISOString();

const named = (id: string, notification: Notification): string =>
  notification ? `"${truncate(notification.label, MAX_LABEL_LENGTH)}"` : id;

const lastFailure = (record: DeliveryRecord): string =>
  failureText(reasonOf(record), record.status === 'bounced' ? undefined : record.attempts.at(-1)?.status);

const attemptsSoFar = ({ attempt_count }: DeliveryRecord): string => `${attempt_count} of ${MAX_ATTEMPTS}`;

const nextAttempt = ({ status, next_attempt_at_ms }: DeliveryRecord): string =>
  status === 'pending' ? time(next_attempt_at_ms) : 'none';

/** Returns when the alert first failed: the first attempt of the round, or its start if nothing could be sent. */
const firstFailure = ({ first_attempt_at_ms, round_started_at_ms }: DeliveryRecord): string =>
  time(first_attempt_at_ms || round_started_at_ms);

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

const testAdvice = (apiUrl: string, id: string): string =>
  `Check the destination, then test it: POST ${notificationUrl(apiUrl, id)}/test. If the destination has changed, update the notification: PUT ${notificationUrl(apiUrl, id)}.`;

const deliveryFacts = (
  apiUrl: string,
  { notificationId, notification }: UnreachedDelivery,
  event: AlarmEvent,
  record: DeliveryRecord,
  lastResult: string,
): [string, string][] => [
  ...(notification
    ? ([
        ['Notification', notification.label],
        ['Type', notification.type],
      ] satisfies [string, string][])
    : []),
  ['ID', notificationId],
  ['Alert', headline(event)],
  ['Event', event.event_id],
  ['First failure', firstFailure(record)],
  ['Last result', lastResult],
  ['Attempts so far', attemptsSoFar(record)],
  ['Next attempt', nextAttempt(record)],
  ['History', `${notificationUrl(apiUrl, notificationId)}/deliveries`],
];

/** A failed delivery with its record. */
export type FailedDelivery = UnreachedDelivery & { record: DeliveryRecord };

/** What SES reported about an email after it accepted it. */
export type EmailReport = 'bounce' | 'complaint' | 'reject';

const reportTexts: Record<EmailReport, { subject: string; result: string }> = {
  bounce: { subject: 'is failing', result: 'the email bounced' },
  reject: { subject: 'is failing', result: 'AWS rejected the content of the email' },
  complaint: { subject: 'was reported as spam', result: 'a recipient reported the email as spam' },
};

/**
 * Returns the notice that alerts of a notification fail: its destination has failed for minutes, or SES reported a
 * bounce or a complaint.
 *
 * @param report what SES reported; undefined if attempts failed
 */
export const failingNotice = (
  tenant: string,
  apiUrl: string,
  delivery: FailedDelivery,
  event: AlarmEvent,
  report?: EmailReport,
): Notice => {
  const { notificationId, notification, record } = delivery;
  const { subject, result } = report ? reportTexts[report] : { subject: 'is failing', result: lastFailure(record) };
  const name = named(notificationId, notification);
  const headlineText = `Delivery to ${name} ${subject}`;
  return {
    event: noticeEvent('failing', tenant, delivery, record.updated_at_ms, headlineText),
    content: contentOf(
      'failing',
      headlineText,
      [
        record.status === 'pending'
          ? `Alerts for the notification ${name} are failing: ${result}. The service keeps trying.`
          : `An alert for the notification ${name} did not arrive as intended: ${result}.`,
        testAdvice(apiUrl, notificationId),
        ONCE_A_DAY,
      ],
      deliveryFacts(apiUrl, delivery, event, record, result),
    ),
  };
};

/** Returns the notice that an alert of a notification was dead-lettered. */
export const undeliveredNotice = (
  tenant: string,
  apiUrl: string,
  delivery: FailedDelivery,
  event: AlarmEvent,
): Notice => {
  const { notificationId, notification, record } = delivery;
  const name = named(notificationId, notification);
  const subject = `An alert to ${name} was not delivered`;
  const redeliver = `${notificationUrl(apiUrl, notificationId)}/redeliver`;
  return {
    event: noticeEvent('undelivered', tenant, delivery, record.updated_at_ms, subject),
    content: contentOf(
      'undelivered',
      subject,
      [
        `The service stopped trying to deliver an alert to the notification ${name}: ${lastFailure(record)}.`,
        testAdvice(apiUrl, notificationId),
        `Then redeliver the alerts that failed in the last 14 days: POST ${redeliver} with {"since": 0}.`,
        ONCE_A_DAY,
      ],
      deliveryFacts(apiUrl, delivery, event, record, lastFailure(record)),
    ),
  };
};

/** In hex digits: enough to distinguish the alarms of a tenant. */
const INCIDENT_KEY_LENGTH = 16;

/** Returns the event ID of an escalation: one per alarm and UTC hour. */
export const unreachedNoticeId = (event: AlarmEvent, atMs: number): string =>
  `${event.tenant_id}:${incidentKey(event).slice(0, INCIDENT_KEY_LENGTH)}:${startOf(HOUR_MS, atMs)}:unreached`;

/** Returns an entity or alarm with its ID and label only; both may have any length. */
const recordOf = (record: { id: string }): { id: string; label?: string } => {
  const label = nameOf(record);
  return { id: shortenedId(record.id), ...(label !== undefined && { label: truncate(label, MAX_VALUE_LENGTH) }) };
};

/** The event that reached nobody, as its escalation identifies it. */
const unreachedEvent = (event: AlarmEvent, atMs: number): AlarmEvent => ({
  event_id: unreachedNoticeId(event, atMs),
  tenant_id: event.tenant_id,
  details: { state: event.details.state },
  entity: recordOf(event.entity),
  alarm: recordOf(event.alarm),
});

const eventFacts = (event: AlarmEvent): [string, string][] => {
  const status = statusText(event);
  return [
    ['Alert', headline(event)],
    ...(status === undefined ? [] : [['Status', status] satisfies [string, string]]),
    ['Entity', nameOf(event.entity) ?? event.entity.id],
    ['Alarm', nameOf(event.alarm) ?? event.alarm.id],
    ['Event', event.event_id],
  ];
};

const destinationFact = ({ notificationId, notification, record }: UnreachedDelivery): [string, string] => {
  const name = notification ? `${notification.type} ${named(notificationId, notification)}` : 'notification';
  if (!record || record.status === 'cancelled') return [notificationId, `${name}: deleted`];
  const outcome = lastFailure(record);
  return [
    notificationId,
    `${name}: ${outcome}; attempts ${attemptsSoFar(record)}, next attempt ${nextAttempt(record)}`,
  ];
};

const subjectOf = (event: AlarmEvent, problem: string): string =>
  `${event.details.state} on ${truncate(nameOf(event.entity) ?? event.entity.id, MAX_LABEL_LENGTH)}: ${problem}`;

/** Returns the escalation of an alert that none of its destinations received. */
export const unreachedNotice = (
  event: AlarmEvent,
  destinations: readonly UnreachedDelivery[],
  atMs: number,
): Notice => {
  const count = destinations.length;
  const problem =
    count === 1 ? 'its only destination could not be reached' : `none of its ${count} destinations could be reached`;
  return {
    event: unreachedEvent(event, atMs),
    content: contentOf(
      'unreached',
      subjectOf(event, problem),
      [
        'This alert has reached nobody. Check the alarm itself, then the destinations below.',
        'The service escalates an alarm at most once an hour.',
      ],
      [...eventFacts(event), ...destinations.map(destinationFact)],
    ),
  };
};

/** The number of unknown IDs that an escalation lists. */
const MAX_LISTED_IDS = 10;

/** Returns the escalation of an alert whose notification plan lists only notifications that do not exist. */
export const unknownPlanNotice = (event: AlarmEvent, ids: readonly string[], atMs: number): Notice => {
  const listed = ids.slice(0, MAX_LISTED_IDS).map((id) => truncate(id, MAX_LABEL_LENGTH));
  const more = ids.length > MAX_LISTED_IDS ? ` and ${ids.length - MAX_LISTED_IDS} more` : '';
  return {
    event: unreachedEvent(event, atMs),
    content: contentOf(
      'unreached',
      subjectOf(event, 'its notification plan lists only notifications that do not exist'),
      [
        'This alert has reached nobody. Check the alarm itself, then change its notification plan.',
        'The service escalates an alarm at most once an hour.',
      ],
      [...eventFacts(event), ['Unknown notifications', `${listed.join(', ')}${more}`]],
    ),
  };
};

/**
 * The maximum number of messages of notices to a tenant's contacts, and to the operators about a tenant, in a UTC day.
 * They bound the cost if notices are repeated, and do not depend on the limits of alerts, which may be 0.
 */
export const MAX_NOTICE_MESSAGES_PER_DAY = { email: 10_000, managed: 1_000 } as const;

/** The maximum number of alarms of a tenant that are escalated in a UTC day. Then one summary is sent. */
export const MAX_ESCALATIONS_PER_DAY = 20;

/** Returns the event ID of the summary of a tenant's escalations: one per UTC day. */
export const unreachedSummaryId = (tenant: string, atMs: number): string =>
  `${tenant}:summary:${startOf(DAY_MS, atMs)}:unreached`;

/** Returns the notice that further alerts of a tenant reach nobody and are not escalated one by one that day. */
export const unreachedSummary = (event: AlarmEvent, atMs: number): Notice => {
  const subject = `More than ${MAX_ESCALATIONS_PER_DAY} alarms reached nobody today`;
  const dayEndsAt = time(startOf(DAY_MS, atMs) + DAY_MS);
  return {
    event: {
      event_id: unreachedSummaryId(event.tenant_id, atMs),
      tenant_id: event.tenant_id,
      details: { state: 'CRITICAL', status: subject },
      entity: { id: event.tenant_id },
      alarm: { id: 'unreached' },
    },
    content: contentOf(
      'unreached',
      subject,
      [
        `Until ${dayEndsAt}, the service escalates no further alarms of this account. Alerts that reach nobody stay visible in the delivery history of their notifications.`,
      ],
      [['Latest alert', headline(event)]],
    ),
  };
};

/** Returns the event of a record, as far as the record stores it, for notices about a bounced email. */
export const eventOfRecord = (tenant: string, record: DeliveryRecord): AlarmEvent => ({
  event_id: record.event_id,
  tenant_id: tenant,
  details: { state: record.state },
  entity: { id: record.entity_id },
  alarm: { id: record.alarm_id },
});
