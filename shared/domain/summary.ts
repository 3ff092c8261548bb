import type { AlarmEvent, AlarmState } from '../contracts/alarm-event.ts';
import type { EventHeader } from '../contracts/event-header.ts';
import type { NoticeContent } from '../contracts/notice.ts';
import { plainLine, plainName, truncate } from './alert-text.ts';
import { eventHash, sortableTime } from './delivery-key.ts';
import type { DeliveryRecord } from './delivery-record.ts';
import { createNotice, type Notice, noticeId } from './notice.ts';
import type { NotificationKey } from './notification.ts';
import { MINUTE_MS, startOf } from './time.ts';

/**
 * Alerts of a window are listed within this time of its end, by whatever sender: longer than a function runs, and half
 * a minute until Lambda starts it (docs/decisions/deliveries.md#summaries).
 */
const SETTLING_MS = MINUTE_MS;

/** A period whose alerts to a notification are listed in one summary. Times are ms since the epoch. */
export type SummaryWindow = {
  startMs: number;
  endMs: number;
  /** Distinguishes windows with the same start. */
  name: string;
  reason: string;
};

const windowAt = (timeMs: number, minutes: number) => {
  const lengthMs = minutes * MINUTE_MS;
  const startMs = startOf(lengthMs, timeMs);
  return { startMs, endMs: startMs + lengthMs };
};

/** Near and above a daily limit. */
const LONG_WINDOW_MINUTES = 60;

/** @param isNearLimit the account has used more than half of its daily limit, so that windows are long */
export const accountWindow = (timeMs: number, windowMinutes: number, isNearLimit = false): SummaryWindow => {
  const minutes = isNearLimit ? Math.max(windowMinutes, LONG_WINDOW_MINUTES) : windowMinutes;
  return {
    ...windowAt(timeMs, minutes),
    name: `${minutes}m`,
    reason: 'The first alerts of this period were sent one by one. This message lists the others.',
  };
};

/** For alerts above a daily limit: their summary is that of the account's long windows. */
export const limitWindow = (timeMs: number): SummaryWindow => ({
  ...accountWindow(timeMs, LONG_WINDOW_MINUTES),
  reason: 'The daily limit of the account is reached, so its alerts are summarized every hour until midnight UTC.',
});

export const summaryDueAtMs = ({ endMs }: Pick<SummaryWindow, 'endMs'>): number => endMs + SETTLING_MS;

/** One per notification and window. */
export const summaryId = (
  { tenant, id: notificationId }: NotificationKey,
  { startMs, name }: Pick<SummaryWindow, 'startMs' | 'name'>,
): string => noticeId('summary', tenant, `${notificationId}-${name}`, startMs);

/** No producer's event can have such an ID (`NOTICE_EVENT_ID`). */
export const isSummary = ({ event_id }: Pick<AlarmEvent, 'event_id'>): boolean => /:\d+:summary$/.test(event_id);

/** The text lists the alerts only when it is sent, and the record has the state of its alarms. */
export const summaryNotice = (notification: NotificationKey, window: SummaryWindow): Notice => {
  const content: NoticeContent = {
    kind: 'summary',
    subject: 'Summary of alerts',
    paragraphs: [window.reason],
    facts: [
      ['From', window.startMs],
      ['To', window.endMs],
    ],
  };
  const { tenant, id: notificationId } = notification;
  return createNotice(tenant, summaryId(notification, window), content, { entity: { id: notificationId } });
};

/** Lengths in code points: an item has less than 1 KB. */
const MAX_LISTED_NAME_LENGTH = 120;
const MAX_LISTED_ALARM_LENGTH = 60;
const MAX_LISTED_STATUS_LENGTH = 120;

export type SummarizedAlarm = {
  incident: string;
  name: string;
  state: AlarmState;
  status: string;
  /** When the alarm's state changed, ms since the epoch. */
  atMs: number;
  /** By time, then by when SQS accepted the alert. Unique per delivery and the same at each attempt. */
  sortKey: string;
};

/** In hex digits: enough to distinguish the alarms of a tenant. */
export const INCIDENT_LENGTH = 16;

/** @param acceptedAtMs that of the record, which duplicates do not change */
export const summarizedAlarm = (event: EventHeader, acceptedAtMs: number): SummarizedAlarm => {
  const atMs = event.produced_at_ms ?? acceptedAtMs;
  const alarm = `: ${truncate(plainName(event.alarm) ?? '?', MAX_LISTED_ALARM_LENGTH)}`;
  const entity = truncate(plainName(event.entity) ?? '?', MAX_LISTED_NAME_LENGTH - [...alarm].length);
  return {
    incident: event.incident_key.slice(0, INCIDENT_LENGTH),
    name: entity + alarm,
    state: event.state,
    status: truncate(plainLine(event.status ?? ''), MAX_LISTED_STATUS_LENGTH),
    atMs,
    sortKey: `${sortableTime(atMs)}-${sortableTime(acceptedAtMs)}#${eventHash(event)}`,
  };
};

/** Alarms of a message, and bytes of their names and texts: more never fit into an email. */
export const MAX_LISTED_ALARMS = 750;
const MAX_LISTED_BYTES = 90_000;

/** Bounded, because a sender may hold a hundred of them. */
export type Summary = {
  alarmCounts: Record<AlarmState, number>;
  unread: number;
  /** Most severe first, then the one that has been so for longest. */
  alarms: Pick<SummarizedAlarm, 'name' | 'state' | 'status' | 'atMs'>[];
};

export const statesBySeverity = ['CRITICAL', 'WARNING', 'OK'] as const satisfies AlarmState[];

export const alarmCount = ({ alarmCounts, unread }: Summary): number =>
  statesBySeverity.reduce((sum, state) => sum + alarmCounts[state], unread);

const formatCount = (count: number): string => count.toLocaleString('en-US');

export const plural = (count: number, noun: string): string => `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;

/** Such as `12 alarms: 5 CRITICAL, 7 OK`. */
export const summaryHeading = (summary: Summary): string => {
  const states = statesBySeverity
    .filter((state) => summary.alarmCounts[state] > 0)
    .map((state) => `${formatCount(summary.alarmCounts[state])} ${state}`);
  return `${plural(alarmCount(summary), 'alarm')}: ${states.join(', ')}`;
};

/** @param unread the number of further alarms */
export const summaryOf = (alarms: readonly SummarizedAlarm[], unread: number): Summary => {
  const inState = (wanted: AlarmState) => alarms.filter(({ state }) => state === wanted);
  const sorted = statesBySeverity.flatMap((state) => inState(state).toSorted((one, other) => one.atMs - other.atMs));
  let bytes = 0;
  const listed = sorted.slice(0, MAX_LISTED_ALARMS).filter(({ name, status }) => {
    bytes += Buffer.byteLength(name) + Buffer.byteLength(status);
    return bytes <= MAX_LISTED_BYTES;
  });
  return {
    alarmCounts: {
      CRITICAL: inState('CRITICAL').length,
      WARNING: inState('WARNING').length,
      OK: inState('OK').length,
    },
    unread,
    alarms: listed.map(({ name, state, status, atMs }) => ({ name, state, status, atMs })),
  };
};

/** In the escalation of a summary. */
const MAX_NAMED_ALARMS = 3;

export const withSummaryOf = (record: DeliveryRecord, summary: Summary): DeliveryRecord => ({
  ...record,
  alarm_count: alarmCount(summary),
  alarm_names: summary.alarms.slice(0, MAX_NAMED_ALARMS).map(({ name }) => name),
  state: statesBySeverity.find((state) => summary.alarmCounts[state] > 0) ?? record.state,
});
