import type { AlarmEvent, AlarmState } from '../contracts/alarm-event.ts';
import { plainNameOf, truncate } from './alert-text.ts';
import { eventHash, type NotificationOfTenant, sortableTime } from './delivery-key.ts';
import type { Notice } from './delivery-message.ts';
import type { DeliveryRecord } from './delivery-record.ts';
import { changedAtMs, readEventTime } from './event-time.ts';
import { incidentKey } from './incident.ts';

const MINUTE_MS = 60_000;

/** The maximum number of summaries per tenant and UTC day by SMS. */
const MAX_SMS_SUMMARIES_PER_DAY = 100;

/** Returns the daily limit of summaries by SMS, none if a limit of 0 forbids SMS. @param smsPerDay that of alerts */
export const smsSummariesPerDay = (smsPerDay: number): number => (smsPerDay === 0 ? 0 : MAX_SMS_SUMMARIES_PER_DAY);

/**
 * Alerts of a window are listed within this time of its end, by whatever sender: longer than a function runs, and half a
 * minute until Lambda starts it (docs/decisions/deliveries.md#summaries).
 */
const SETTLING_MS = MINUTE_MS;

/** A period whose alerts to a notification are listed in one summary. Times are ms since the epoch. */
export type SummaryWindow = {
  startMs: number;
  endMs: number;
  /** Distinguishes windows with the same start. */
  name: string;
  /** Why its alerts are summarized. */
  reason: string;
};

/** Windows start at multiples of their length. */
const windowAt = (timeMs: number, minutes: number) => {
  const lengthMs = minutes * MINUTE_MS;
  const startMs = timeMs - (timeMs % lengthMs);
  return { startMs, endMs: startMs + lengthMs };
};

/** Returns the window, at a time, of an account that summarizes. */
export const accountWindow = (timeMs: number, minutes: number): SummaryWindow => ({
  ...windowAt(timeMs, minutes),
  name: `${minutes}m`,
  reason: 'The first alerts of this period were sent one by one. This message lists the others.',
});

/** Returns the window, at a time, of alerts above a daily limit: an hour. */
export const limitWindow = (timeMs: number): SummaryWindow => ({
  ...windowAt(timeMs, 60),
  name: 'limit',
  reason: 'The daily limit of the account is reached, so its alerts are summarized every hour until midnight UTC.',
});

/** Returns when the summary of a window is due, ms since the epoch. */
export const summaryDueAtMs = ({ endMs }: Pick<SummaryWindow, 'endMs'>): number => endMs + SETTLING_MS;

/** Returns the event ID of a summary: one per notification and window. */
export const summaryId = (
  { tenant, notificationId }: NotificationOfTenant,
  { startMs, name }: Pick<SummaryWindow, 'startMs' | 'name'>,
): string => `${tenant}:${notificationId}-${name}:${startMs}:summary`;

/** The alarm ID of summaries. */
const SUMMARY_ALARM_ID = 'summary';

/** Returns the event of a summary, with the state of other notices: that of its alarms is in its record. */
const summaryEvent = (notification: NotificationOfTenant, eventId: string): AlarmEvent => ({
  event_id: eventId,
  tenant_id: notification.tenant,
  details: { state: 'WARNING', status: 'Summary of alerts' },
  entity: { id: notification.notificationId },
  alarm: { id: SUMMARY_ALARM_ID },
});

/** Returns a time as `2026-11-22 00:20 UTC`. */
const minuteOf = (timeMs: number): string => `${new Date(timeMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

/** Returns the message that sends a summary. Its text lists the alerts only when it is sent. */
export const summaryNotice = (notification: NotificationOfTenant, window: SummaryWindow): Notice => ({
  event: summaryEvent(notification, summaryId(notification, window)),
  content: {
    kind: 'summary',
    subject: `Alerts from ${minuteOf(window.startMs)} to ${minuteOf(window.endMs)}`,
    paragraphs: [window.reason],
    facts: [],
  },
});

/** Maximum lengths of the name of an alarm, with and without its entity, in code points: an item has less than 1 KB. */
const MAX_NAME_LENGTH = 120;
const MAX_ALARM_LENGTH = 60;

/** An alert that is listed in a summary. */
export type SummarizedAlert = {
  /** Identifies the alarm. */
  incident: string;
  /** Entity and alarm. */
  name: string;
  state: AlarmState;
  /** When the alarm's state changed, ms since the epoch. */
  atMs: number;
  /**
   * Sorts the alerts of an alarm by time, those of one time by when SQS accepted them. Unique per delivery and the same
   * at each attempt.
   */
  sortKey: string;
};

/** In hex digits: enough to distinguish the alarms of a tenant. */
const INCIDENT_LENGTH = 16;

/** Returns an alert as its summary lists it. @param acceptedAtMs that of the record, which duplicates do not change */
export const summarizedAlert = (event: AlarmEvent, acceptedAtMs: number): SummarizedAlert => {
  const atMs = changedAtMs(readEventTime(event, acceptedAtMs).time);
  const alarm = `: ${truncate(plainNameOf(event.alarm) ?? '?', MAX_ALARM_LENGTH)}`;
  const entity = truncate(plainNameOf(event.entity) ?? '?', MAX_NAME_LENGTH - [...alarm].length);
  return {
    incident: incidentKey(event).slice(0, INCIDENT_LENGTH),
    name: entity + alarm,
    state: event.details.state,
    atMs,
    sortKey: `${sortableTime(atMs)}-${sortableTime(acceptedAtMs)}#${eventHash(event)}`,
  };
};

/** An alarm in a summary. */
export type SummarizedAlarm = {
  name: string;
  /** The newest state. */
  state: AlarmState;
  /** When the alarm got the newest state, as far as alerts of the summary show it, ms since the epoch. */
  sinceMs: number;
  /** How often the state changed, as far as alerts of the summary show it. The oldest alert counts as a change. */
  changes: number;
};

/**
 * The maximum number of alarms that a message lists for each state: an email has up to 110 KB, or 160 KB if HTML escapes
 * its names.
 */
export const MAX_LISTED_ALARMS = 60;

/** What a summary says. It is small, because a sender may hold a hundred of them. */
export type Summary = {
  /** The number of alerts, including those that were not evaluated. */
  count: number;
  /** The number of older alerts that were not evaluated. */
  unevaluated: number;
  /** The number of alarms in each state. */
  alarmCounts: Record<AlarmState, number>;
  /** The alarms to list: most severe first, then the one that has been so for longest. */
  alarms: SummarizedAlarm[];
};

/** The states, most severe first. */
export const statesBySeverity = ['CRITICAL', 'WARNING', 'OK'] as const satisfies AlarmState[];

/**
 * Returns the summary of alerts.
 *
 * @param alerts those of an alarm newest first
 */
export const summaryOf = (alerts: Iterable<SummarizedAlert>, unevaluated: number): Summary => {
  const byIncident = new Map<string, SummarizedAlarm & { oldest: AlarmState }>();
  let count = unevaluated;
  for (const { incident, name, state, atMs } of alerts) {
    count++;
    const found = byIncident.get(incident);
    if (!found) {
      byIncident.set(incident, { name, state, sinceMs: atMs, changes: 1, oldest: state });
      continue;
    }
    if (state !== found.oldest) found.changes++;
    else if (found.changes === 1) found.sinceMs = atMs;
    found.oldest = state;
  }
  const all = [...byIncident.values()]
    .map(({ oldest: _, ...alarm }) => alarm)
    .sort((one, other) => one.sinceMs - other.sinceMs);
  const inState = (wanted: AlarmState) => all.filter(({ state }) => state === wanted);
  const [CRITICAL, WARNING, OK] = [inState('CRITICAL'), inState('WARNING'), inState('OK')];
  return {
    count,
    unevaluated,
    alarmCounts: { CRITICAL: CRITICAL.length, WARNING: WARNING.length, OK: OK.length },
    alarms: [CRITICAL, WARNING, OK].flatMap((alarms) => alarms.slice(0, MAX_LISTED_ALARMS)),
  };
};

/** Returns the record of a summary with the number of its alerts and the most severe state of its alarms. */
export const withSummaryOf = (record: DeliveryRecord, { count, alarmCounts }: Summary): DeliveryRecord => ({
  ...record,
  summarized_count: count,
  state: statesBySeverity.find((state) => alarmCounts[state] > 0) ?? record.state,
});
