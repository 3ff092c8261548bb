import type { AlarmState } from '../../../shared/contracts/alarm-event.ts';
import type { EventHeader } from '../../../shared/contracts/event-header.ts';
import { failed } from '../../../shared/domain/attempt-outcome.ts';
import {
  claimedRecord,
  type DeliveryRecord,
  withAttempt,
  withFailure,
  withNextAttempt,
  withReportedAlert,
} from '../../../shared/domain/delivery-record.ts';
import { newNotificationId } from '../../../shared/domain/notification-id.ts';
import { summarizedAlarm, summaryNotice, summaryOf } from '../../../shared/domain/summary.ts';
import { testEvent } from '../../../shared/domain/test-event.ts';
import { noticeTable } from '../../../shared/pipeline/notices/notice-table.ts';
import { emailMessage, summaryEmail } from '../../../shared/pipeline/transports/email-message.ts';
import { alarmHeader, EVENT_TIME_MS, headerOf } from '../../support/events.ts';

const API_URL = 'https://a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com';
const ALARM_URL = 'https://console.example.com/acme/alarms/alDisk?entity=enWeb1';
const MINUTE_MS = 60_000;

/** The texts in emails that tenants and producers choose. */
export type EmailTexts = { id: string; label: string; status: string };

const eventOf = ({ id, label, status }: EmailTexts, state: AlarmState = 'CRITICAL'): EventHeader =>
  alarmHeader({
    event_id: `acme:${id}:${EVENT_TIME_MS}:${state}`,
    details: {
      state,
      status,
      target: label,
      timestamp: EVENT_TIME_MS,
      metrics: { duration: { data: 153, unit: 'milliseconds' }, [label]: { data: status, unit: label } },
    },
    entity: { id, label },
    alarm: { id, label },
    check: { id, label },
  });

const failedRecord = (event: EventHeader, notification_id: string): DeliveryRecord => {
  const message = { notification_id, event, siblings: [], accepted_at_ms: EVENT_TIME_MS, content_hash: 'hash' };
  const outcome = failed('transient', 'http_status', '', { status: 503 });
  const attempted = withAttempt(claimedRecord(message, 'claim', EVENT_TIME_MS, 'webhook'), outcome, EVENT_TIME_MS, 10);
  return withReportedAlert(withNextAttempt(attempted, EVENT_TIME_MS + 10 * MINUTE_MS), message, 1);
};

/** One of the longest offsets. */
const TIME_ZONE = 'Asia/Kathmandu';

export const sampleEmails = (texts: EmailTexts): ReadonlyMap<string, string> => {
  const event = eventOf(texts);
  const notification = { label: texts.label, type: 'webhook' } as const;
  const delivery = () => {
    const notificationId = newNotificationId();
    return { tenant: 'acme', notificationId, notification, record: failedRecord(event, notificationId) };
  };
  const unread = { notificationId: newNotificationId(), notification: undefined, record: undefined };
  const alert = { event, acceptedAtMs: EVENT_TIME_MS, atMs: EVENT_TIME_MS + 5 * MINUTE_MS };
  const failing = delivery();
  const gone = { ...failing, record: withFailure(failing.record, 'attempts_exhausted', EVENT_TIME_MS) };
  const alarms = (['CRITICAL', 'WARNING', 'OK'] as const).flatMap((state) =>
    Array.from({ length: 5 }, (_, index) =>
      summarizedAlarm(eventOf({ ...texts, id: `${texts.id}${index}` }, state), EVENT_TIME_MS + index),
    ),
  );
  const summary = summaryNotice(
    { tenant: 'acme', id: failing.notificationId },
    { startMs: EVENT_TIME_MS, endMs: EVENT_TIME_MS + 5 * MINUTE_MS, name: '5m', reason: 'Why.' },
  );
  const notices = {
    'a failing notice': noticeTable.failing(failing, API_URL, EVENT_TIME_MS),
    'a notice of a stop': noticeTable.stopped(
      { tenant: 'acme', address: `${'a'.repeat(64)}@example.com` },
      { reason: 'bounced', sinceMs: EVENT_TIME_MS },
    ),
    'an undelivered notice': noticeTable.undelivered(gone, API_URL, EVENT_TIME_MS),
    'a notice of alerts that arrive again': noticeTable.recovered(failing, API_URL, EVENT_TIME_MS, {
      failed: 12,
      delivered: 9,
      stillFailed: 3,
      firstFailedAtMs: EVENT_TIME_MS,
    }),
    'an escalation': noticeTable.unreached(alert, [delivery(), delivery(), unread]),
    'an escalation of unknown notifications': noticeTable.unknownPlan(alert, [texts.id, texts.label]),
    'a summary of escalations': noticeTable.escalationLimit(event, EVENT_TIME_MS),
    'a notice of a daily limit': noticeTable.limit(event, false, EVENT_TIME_MS),
  };
  return new Map([
    ['an alert', emailMessage({ event }, TIME_ZONE).html],
    ['a late alert with a link', emailMessage({ event, delayMs: 7 * MINUTE_MS, alarmUrl: ALARM_URL }).html],
    ['a warning', emailMessage({ event: eventOf(texts, 'WARNING') }).html],
    ['a recovery', emailMessage({ event: eventOf(texts, 'OK') }).html],
    ['a test', emailMessage({ event: headerOf(testEvent('acme', EVENT_TIME_MS)) }).html],
    ...Object.entries(notices).map(([kind, { event: noticeEvent, content }]): [string, string] => [
      kind,
      emailMessage({ event: headerOf(noticeEvent), notice: content, alarmUrl: ALARM_URL }, TIME_ZONE).html,
    ]),
    ['a summary', summaryEmail(summaryOf(alarms, 4_000), summary.content, TIME_ZONE).html],
  ]);
};
