import type { AlarmEvent, AlarmState } from '../../contracts/alarm-event.ts';
import type { EventHeader, Fact } from '../../contracts/event-header.ts';
import type { NoticeContent } from '../../contracts/notice.ts';
import { headline, plainName, truncate } from '../../domain/alert-text.ts';
import { dayEndMs, HOUR_MS, startOf } from '../../domain/day.ts';
import { eventHash, eventIdTimeMs } from '../../domain/delivery-key.ts';
import type { DeliveryRecord } from '../../domain/delivery-record.ts';
import { createNotice, dailyNoticeId, type Notice, noticeId } from '../../domain/notice.ts';
import { isSummary } from '../../domain/summary.ts';
import {
  attemptsSoFar,
  lastFailure,
  MAX_LABEL_LENGTH,
  named,
  nextAttemptMs,
  type UnreachedDelivery,
} from './notice-content.ts';

/** In hex digits: enough to distinguish the alarms of a tenant. */
const INCIDENT_KEY_LENGTH = 16;

/**
 * Returns the event ID of an escalation: one per alarm, state and UTC hour, so that an OK cannot hide a CRITICAL. A summary
 * lists other alarms than the next one, and may wait for hours, so there is one per summary and state.
 */
export const unreachedNoticeId = (event: EventHeader, atMs: number): string => {
  const [key, timeMs] = isSummary(event)
    ? [eventHash(event), eventIdTimeMs(event.event_id) ?? 0]
    : [event.incident_key, startOf(HOUR_MS, atMs)];
  return noticeId('unreached', event.tenant_id, `${key.slice(0, INCIDENT_KEY_LENGTH)}-${event.state}`, timeMs);
};

/** Returns what an escalation is about: entity and alarm, or the notification of a summary. */
const subjectOf = (event: EventHeader): string =>
  (isSummary(event) ? [event.entity] : [event.entity, event.alarm])
    .map((record) => truncate(plainName(record) ?? '?', MAX_LABEL_LENGTH))
    .join(', ');

/** Returns an entity or alarm as events contain it. */
const recordOf = ({ id, name }: EventHeader['entity']): AlarmEvent['entity'] => ({
  id,
  ...(name !== undefined && { label: name }),
});

/** An alert that reached nobody. */
export type UnreachedAlert = {
  event: EventHeader;
  /** When SQS accepted the event, ms since the epoch. */
  acceptedAtMs: number;
  /** When it was found that the event had reached nobody, ms since the epoch; the same if it is found again. */
  atMs: number;
};

/**
 * Returns an escalation. Its event has the incident and the time of the alert, so that a pager gets no escalation after a
 * newer OK, and the problem as its status, because not all types send the notice.
 */
const escalationOf = (
  { event, acceptedAtMs, atMs }: UnreachedAlert,
  problem: string,
  paragraphs: string[],
  facts: readonly Fact[],
): Notice => ({
  ...createNotice(
    event.tenant_id,
    unreachedNoticeId(event, atMs),
    {
      kind: 'unreached',
      subject: `${event.state} on ${subjectOf(event)}: ${problem}`,
      paragraphs,
      facts: [
        ['Alert', headline(event)],
        ...(event.status === undefined ? [] : [['Status', event.status] satisfies Fact]),
        ['Since', event.produced_at_ms ?? acceptedAtMs],
        ...facts,
        ['Event', event.event_id],
      ],
    },
    {
      details: {
        state: event.state,
        status: `Escalated: ${problem}. ${event.status ?? ''}`.trim(),
        timestamp: event.produced_at_ms ?? acceptedAtMs,
      },
      entity: recordOf(event.entity),
      alarm: recordOf(event.alarm),
    },
  ),
  incidentKey: event.incident_key,
  acceptedAtMs,
});

const destinationFacts = ({ notificationId, notification, record, isUnreadable }: UnreachedDelivery): Fact[] => {
  const name = notification ? `${notification.type} ${named(notificationId, notification)}` : 'notification';
  const problem = () => {
    if (isUnreadable) return 'cannot be read by the service';
    if (!record || record.status === 'cancelled') return record?.withheld ?? 'deleted';
    return `${lastFailure(record)}; attempts ${attemptsSoFar(record)}`;
  };
  const nextMs = record && nextAttemptMs(record);
  return [
    [name, `${problem()} (${notificationId})`],
    ...(nextMs === undefined ? [] : [['Next attempt', nextMs] satisfies Fact]),
  ];
};

const ONCE_AN_HOUR = 'The service escalates an alarm at most once an hour for each state.';

/** The number of destinations that an escalation lists. */
export const MAX_LISTED_DESTINATIONS = 26;

/** Returns what is wrong with a summary that failed, and which alarms it lists. */
export const summaryProblem = ({
  alarm_count: count,
  alarm_names: names = [],
}: Pick<DeliveryRecord, 'alarm_count' | 'alarm_names'>): string => {
  const problem = `a summary of ${count === undefined ? '' : `${count} `}${count === 1 ? 'alarm' : 'alarms'} could not be delivered`;
  const more = (count ?? 0) - names.length;
  return names.length === 0 ? problem : `${problem}: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
};

/**
 * Returns the escalation of an alert that none of its destinations received.
 *
 * @param destinations at least the ones to list, up to `MAX_LISTED_DESTINATIONS`
 * @param count the number of all destinations
 * @param summaryProblem what is wrong, if it is a summary
 */
export const unreachedNotice = (
  alert: UnreachedAlert,
  destinations: readonly UnreachedDelivery[],
  count = destinations.length,
  summaryProblem?: string,
): Notice => {
  const listed = destinations.slice(0, MAX_LISTED_DESTINATIONS);
  const more = count - listed.length;
  const destinationProblem =
    count === 1 ? 'its only destination could not be reached' : `none of its ${count} destinations could be reached`;
  const problem = summaryProblem ?? destinationProblem;
  const nobody = summaryProblem
    ? 'The history of the notification lists these alerts with the status summarized.'
    : 'This alert has reached nobody.';
  return escalationOf(
    alert,
    problem,
    [`${nobody} Check the alarm itself, then the destinations below.`, ...(summaryProblem ? [] : [ONCE_AN_HOUR])],
    [
      ...listed.flatMap(destinationFacts),
      ...(more > 0 ? [[`and ${more} more`, 'none of them could be reached'] satisfies Fact] : []),
    ],
  );
};

/** The number of unknown IDs that an escalation lists. */
const MAX_LISTED_IDS = 10;

/** Returns the escalation of an alert whose notification plan lists only notifications that do not exist. */
export const unknownPlanNotice = (alert: UnreachedAlert, ids: readonly string[]): Notice => {
  const problem = 'its notification plan lists only notifications that do not exist';
  const listed = ids.slice(0, MAX_LISTED_IDS).map((id) => truncate(id, MAX_LABEL_LENGTH));
  const more = ids.length > MAX_LISTED_IDS ? ` and ${ids.length - MAX_LISTED_IDS} more` : '';
  const advice = 'This alert has reached nobody. Check the alarm itself, then change its notification plan.';
  return escalationOf(
    alert,
    problem,
    [advice, ONCE_AN_HOUR],
    [['Unknown notifications', `${listed.join(', ')}${more}`]],
  );
};

/**
 * The maximum number of escalations of a tenant in a UTC day, for each counter. Then one notice for each state
 * says so.
 */
export const MAX_ESCALATIONS_PER_DAY = 20;

/** Returns the counter of a state. OK has its own, so that it cannot use up the limit of the other states. */
export const escalationCounter = (state: AlarmState): 'escalations' | 'ok_escalations' =>
  state === 'OK' ? 'ok_escalations' : 'escalations';

/** Returns the event ID of the notice of the limit: one per tenant, state and UTC day. */
export const escalationLimitNoticeId = ({ tenant_id: tenant, state }: EventHeader, atMs: number): string =>
  dailyNoticeId('unreached', tenant, `summary-${state}`, atMs);

/** Returns the notice that further alerts of a tenant and state reach nobody and are not escalated that day. */
export const escalationLimitNotice = (event: EventHeader, atMs: number): Notice => {
  const { tenant_id: tenant, state } = event;
  const isOk = state === 'OK';
  const subject = `More than ${MAX_ESCALATIONS_PER_DAY} ${isOk ? 'OK alerts' : 'alarms'} reached nobody today`;
  const content: NoticeContent = {
    kind: 'unreached',
    subject,
    paragraphs: [
      `Until the day ends, the service escalates no further ${state} alerts of this account. Alerts that reach nobody stay visible in the delivery history of their notifications.`,
    ],
    facts: [
      ['Latest alert', headline(event)],
      ['The day ends', dayEndMs(atMs)],
    ],
  };
  return createNotice(tenant, escalationLimitNoticeId(event, atMs), content, { details: { state, status: subject } });
};
