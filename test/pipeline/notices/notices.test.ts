import fc from 'fast-check';
import { escape as escapeHtml } from 'html-escaper';
import { describe, expect, it } from 'vitest';
import { type AlarmState, alarmStates, isAlarmEvent } from '../../../shared/contracts/alarm-event.ts';
import type { EventHeader } from '../../../shared/contracts/event-header.ts';
import { failureReasons, type StopReason } from '../../../shared/contracts/outcomes.ts';
import { factLines, factTexts, truncateUnits } from '../../../shared/domain/alert-text.ts';
import { failed } from '../../../shared/domain/attempt-outcome.ts';
import { deliveryKey } from '../../../shared/domain/delivery-key.ts';
import {
  claimedRecord,
  type DeliveryRecord,
  withAttempt,
  withFailure,
  withNextAttempt,
  withReportedAlert,
  withStatus,
} from '../../../shared/domain/delivery-record.ts';
import { eventHeader } from '../../../shared/domain/event-header.ts';
import { failureText } from '../../../shared/domain/failure-text.ts';
import { noticeBody } from '../../../shared/domain/new-delivery-message.ts';
import type { Notice } from '../../../shared/domain/notice.ts';
import { accountWindow, summaryNotice } from '../../../shared/domain/summary.ts';
import { DAY_MS, HOUR_MS } from '../../../shared/domain/time.ts';
import { noticeTable, summaryProblem } from '../../../shared/pipeline/notices/notice-table.ts';
import { emailMessage } from '../../../shared/pipeline/transports/email-message.ts';
import { operatorMessage } from '../../../shared/pipeline/transports/managed.ts';
import { smsMessage } from '../../../shared/pipeline/transports/sms.ts';
import { alarmEvent, alarmHeader, headerOf, readDelivery } from '../../support/events.ts';
import { runs } from '../../support/quick-run.ts';
import { wordsOf } from '../../support/words-of-html.ts';

const MORNING_MS = Date.UTC(2026, 0, 1, 6);
const EVENING_MS = Date.UTC(2026, 0, 1, 23, 59);
const otherStates = alarmStates.filter((state) => state !== 'CRITICAL');
const API_URL = 'https://api.example.com';

const notification = { label: 'On call', type: 'webhook' } as const;
const transient503 = failed('transient', 'http_status', '', { status: 503 });

/** Returns a record after four failed attempts; the next one is due in ten minutes. */
const failingRecord = (nowMs = MORNING_MS, event = alarmHeader()): DeliveryRecord => {
  const message = { notification_id: 'ntA', event, siblings: [], accepted_at_ms: nowMs, content_hash: 'hash' };
  const attempted = Array.from({ length: 4 }).reduce<DeliveryRecord>(
    (record, _, index) => withAttempt(record, transient503, nowMs + index * 1_000, 10),
    claimedRecord(message, 'claim', nowMs, 'webhook'),
  );
  return withReportedAlert(withNextAttempt(attempted, nowMs + 10 * 60_000), message, 1);
};

const deliveryOf = (record = failingRecord(), notificationId = 'ntA') => ({
  tenant: 'acme',
  notificationId,
  notification,
  record,
});

const failing = (startedAtMs = MORNING_MS, id = 'ntA') =>
  noticeTable.failing(deliveryOf(failingRecord(startedAtMs), id), API_URL, startedAtMs);

const rejected = (atMs = MORNING_MS, id = 'ntA') =>
  noticeTable.rejected(deliveryOf(failingRecord(), id), API_URL, atMs);

const undelivered = (nowMs = MORNING_MS, id = 'ntA') =>
  noticeTable.undelivered(
    deliveryOf(withFailure(failingRecord(nowMs), 'attempts_exhausted', nowMs), id),
    API_URL,
    nowMs,
  );

const recovered = (startedAtMs = MORNING_MS, id = 'ntA', stillFailed = 1) =>
  noticeTable.recovered(
    deliveryOf(withStatus(failingRecord(), 'delivered', MORNING_MS + HOUR_MS), id),
    API_URL,
    startedAtMs,
    { failed: 12, delivered: 12 - stillFailed, stillFailed, firstFailedAtMs: startedAtMs - 190_000 },
  );

const alertOf = (event: EventHeader, atMs = MORNING_MS) => ({ event, acceptedAtMs: atMs, atMs });

const unreached = (event = alarmHeader(), atMs = MORNING_MS) =>
  noticeTable.unreached(alertOf(event, atMs), [
    { notificationId: 'ntA', notification, record: failingRecord() },
    { notificationId: 'ntB', notification: undefined, record: undefined },
  ]);

const summaryAt = (timeMs = MORNING_MS): EventHeader =>
  headerOf(summaryNotice({ tenant: 'acme', id: 'ntA' }, accountWindow(timeMs, 5)).event);

const summarized = (atMs = MORNING_MS, alarm = 'al', state: AlarmState = 'CRITICAL') =>
  noticeTable.escalationLimit(alarmHeader({ alarm: { id: alarm }, details: { state } }), atMs);

const stopped = (sinceMs = MORNING_MS, reason: StopReason = 'bounced', address = 'OnCall@example.com') =>
  noticeTable.stopped({ tenant: 'acme', address }, { reason, sinceMs });

const sortKey = ({ event }: Notice): string => deliveryKey(event, 'ntTechnicalContactsEmail').sk;

describe('every notice', () => {
  const notices: [string, Notice][] = [
    ['of a failing destination', failing()],
    ['of an email whose content SES rejected', rejected()],
    ['of an undelivered alert', undelivered()],
    ['of alerts that arrive again', recovered()],
    ['of an alert that reached nobody', unreached()],
    ['of a plan with unknown notifications', noticeTable.unknownPlan(alertOf(alarmHeader()), ['ntX'])],
    ['that summarizes a day', noticeTable.escalationLimit(alarmHeader(), MORNING_MS)],
    ['of a daily limit', noticeTable.limit(alarmHeader(), true, MORNING_MS)],
    ['of a stop', stopped()],
    ['of further stops on a day', noticeTable.stopLimit('acme', MORNING_MS)],
  ];

  it.each(notices)('%s is a valid delivery message with a valid alarm event', (_, notice) => {
    expect(isAlarmEvent(notice.event)).toBe(true);
    const body = readDelivery(noticeBody({ id: 'ntTechnicalContactsEmail' }, notice, {}, MORNING_MS));
    expect(body.notice).toEqual(notice.content);
  });

  it.each(notices)(
    '%s has the same content hash if its text changes, so that a repeated one is a duplicate',
    (_, notice) => {
      const { event, content } = notice;
      const other = {
        event: { ...event, details: { state: 'OK' as const } },
        content: { ...content, subject: 'other' },
      };
      const hashOf = (body: string) => readDelivery(body).content_hash;
      expect(hashOf(noticeBody({ id: 'ntA' }, other, {}, MORNING_MS))).toBe(
        hashOf(noticeBody({ id: 'ntA' }, notice, {}, MORNING_MS)),
      );
    },
  );

  it.each(notices)('%s has the same text in its email and in the message to the operators', (_, { event, content }) => {
    const email = emailMessage({ event: headerOf(event), notice: content });
    const message = operatorMessage({ event: headerOf(event), payload: '{}', notice: content });
    expect(email.subject).toBe(content.subject);
    expect(message.subject).toBe(truncateUnits(`acme ${content.subject}`, 99));
    for (const paragraph of content.paragraphs) {
      expect(email.text).toContain(paragraph);
      expect(message.text).toContain(paragraph);
    }
    for (const [name, value] of factTexts(content.facts)) {
      expect(email.text).toContain(`${name}: ${value}`);
      expect(message.text).toContain(`${name}: ${value}`);
      expect(wordsOf(email.html)).toContain(`${escapeHtml(name)} ${escapeHtml(value)}`);
    }
    expect(wordsOf(email.html)).toMatch(new RegExp(`^${event.details.state} `));
    for (const [, command] of content.commands ?? []) {
      expect(email.text).toContain(command);
      expect(message.text).toContain(command);
      expect(email.html).toContain(escapeHtml(command));
    }
  });

  it('has one line per value and stays small, whatever the labels, IDs and statuses of the event are', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 5_000 }),
      fc.string({ unit: fc.constantFrom('a', ' ', '\u202e', '\u200b', '\u00ad'), minLength: 1, maxLength: 100 }),
    );
    fc.assert(
      fc.property(text, text, text, (label, id, status) => {
        const event = alarmHeader({
          entity: { id, label },
          alarm: { id, label },
          details: { state: 'CRITICAL', status },
        });
        const record = failingRecord(MORNING_MS, event);
        const named = { label: [...label].slice(0, 255).join('') || 'x', type: 'webhook' } as const;
        for (const { event: noticeEvent, content } of [
          noticeTable.failing({ ...deliveryOf(record), notification: named }, API_URL, MORNING_MS),
          noticeTable.unreached(alertOf(event), [{ notificationId: 'ntA', notification: named, record }]),
        ]) {
          const body = noticeBody({ id: 'ntTechnicalContactsEmail' }, { event: noticeEvent, content }, {}, MORNING_MS);
          expect(Buffer.byteLength(body)).toBeLessThan(64 * 1_024);
          const parts = [content.subject, ...content.paragraphs, ...factTexts(content.facts).flat()];
          expect(parts.filter((part) => /\p{Cc}/u.test(part))).toEqual([]);
          expect(content.subject).not.toMatch(/\p{Cf}/u);
          expect(emailMessage({ event: headerOf(noticeEvent), notice: content }).html).not.toMatch(/<script|<img/i);
        }
      }),
      { numRuns: runs(200) },
    );
  });
});

it.each<[string, [Notice, Notice], Notice[]]>([
  [
    'kind, notification and outage',
    [failing(), noticeTable.failing(deliveryOf(failingRecord(EVENING_MS)), API_URL, MORNING_MS)],
    [recovered(), failing(MORNING_MS, 'ntB'), failing(EVENING_MS), recovered(EVENING_MS)],
  ],
  [
    'kind, notification and UTC day for undelivered alerts and rejected emails',
    [undelivered(), undelivered(EVENING_MS)],
    [undelivered(MORNING_MS, 'ntB'), undelivered(MORNING_MS + DAY_MS), rejected(), rejected(MORNING_MS + DAY_MS)],
  ],
  [
    'daily limit and UTC day',
    [noticeTable.limit(alarmHeader(), false, MORNING_MS), noticeTable.limit(alarmHeader(), false, EVENING_MS)],
    [noticeTable.limit(alarmHeader(), true, MORNING_MS), noticeTable.limit(alarmHeader(), false, MORNING_MS + DAY_MS)],
  ],
  [
    'mailbox, reason and UTC day',
    [stopped(), stopped(EVENING_MS, 'bounced', 'oncall+1@example.com')],
    [stopped(MORNING_MS, 'complained'), stopped(MORNING_MS, 'bounced', 'b@example.com'), stopped(MORNING_MS + DAY_MS)],
  ],
  [
    'UTC day for further stops',
    [noticeTable.stopLimit('acme', MORNING_MS), noticeTable.stopLimit('acme', EVENING_MS)],
    [noticeTable.stopLimit('acme', MORNING_MS + DAY_MS)],
  ],
  [
    'alarm, state and UTC hour, whatever the event',
    [unreached(), unreached(alarmHeader({ event_id: 'another' }), MORNING_MS + HOUR_MS - 1)],
    [
      unreached(alarmHeader(), MORNING_MS + HOUR_MS),
      unreached(alarmHeader({ alarm: { id: 'another' } })),
      ...otherStates.map((state) => unreached(alarmHeader({ details: { state } }))),
    ],
  ],
  [
    'summary and state',
    [unreached(summaryAt()), unreached(summaryAt(), EVENING_MS)],
    [unreached(summaryAt(MORNING_MS + HOUR_MS / 2)), unreached({ ...summaryAt(), state: 'OK' })],
  ],
  [
    'state and UTC day for further alerts that reached nobody',
    [summarized(), summarized(EVENING_MS, 'another')],
    [summarized(MORNING_MS + DAY_MS), ...otherStates.map((state) => summarized(MORNING_MS, 'al', state))],
  ],
])('there is one notice per %s', (_, [first, repeated], others) => {
  expect(sortKey(repeated)).toBe(sortKey(first));
  expect(new Set([first, ...others].map(sortKey)).size).toBe(1 + others.length);
});

describe('the notice of a failing destination', () => {
  it('contains what happened, when it started, what comes next and what to do', () => {
    const { text } = emailMessage({ event: headerOf(failing().event), notice: failing().content });
    for (const part of [
      'Delivery to "On call" is failing',
      'Type: webhook',
      'ID: ntA',
      'Alert: [CRITICAL] web-1: Disk space',
      'First failure: 2026-01-01 06:00:00 UTC',
      'Last result: the destination returned an unexpected status (HTTP 503)',
      'Attempts so far: 4 of 9',
      'Next attempt: 2026-01-01 06:10:00 UTC',
      'curl https://api.example.com/notifications/ntA/deliveries -H "X-Auth-Token: $TOKEN"',
      'curl -X POST https://api.example.com/notifications/ntA/test -H "X-Auth-Token: $TOKEN"',
    ]) {
      expect(text).toContain(part);
    }
  });

  it('says that SES rejected the content of an email', () => {
    expect(rejected().content.facts).toContainEqual(['Last result', 'AWS rejected the content of the email']);
  });

  it.each([
    ['whose label has no visible characters', { label: '\u200b'.repeat(3), type: 'webhook' } as const],
    ['that cannot be read', undefined],
  ])('names the ID of a notification %s', (_, named) => {
    const { content } = noticeTable.failing({ ...deliveryOf(), notification: named }, API_URL, MORNING_MS);
    expect(content.subject).toBe('Delivery to ntA is failing');
  });
});

it('the notice of alerts that arrive again contains the numbers of the outage, and when it began and ended', () => {
  const { text } = emailMessage({ event: headerOf(recovered().event), notice: recovered().content });
  for (const part of [
    'Delivery to "On call" works again',
    'Of 12 alerts that failed in this outage, 11 were delivered since, and 1 is still failed.',
    'Failed: 12 alerts\nDelivered since: 11 alerts\nStill failed: 1 alert\n',
    'First failure: 2026-01-01 05:56:50 UTC',
    'Works again since: 2026-01-01 07:00:00 UTC',
    '/notifications/ntA/redeliver',
  ]) {
    expect(text).toContain(part);
  }
  const { content } = recovered(MORNING_MS, 'ntA', 0);
  expect(JSON.stringify(content)).not.toContain('redeliver');
});

it('the notice of an undelivered alert contains the command that redelivers it, then IDs', () => {
  const { text, html } = emailMessage({ event: headerOf(undelivered().event), notice: undelivered().content });
  expect(text).toContain(
    `curl -X POST https://api.example.com/notifications/ntA/redeliver -H "X-Auth-Token: $TOKEN" -d '{"since":0}'`,
  );
  expect(text).toContain('all attempts failed');
  expect(text).toMatch(/Redeliver .*:\ncurl .*\n\nID: ntA\nEvent: acme:\S+\n$/);
  expect(wordsOf(html)).toMatch(/Next attempt none .* Redeliver .* curl .* ID ntA Event acme:\S+$/);
  expect(text).toContain('Next attempt: none');
});

describe('the escalation of an alert that reached nobody', () => {
  it('names the alert, and each destination with its failure', () => {
    const { content } = unreached();
    expect(content.subject).toBe('CRITICAL on web-1, Disk space: none of its 2 destinations could be reached');
    expect(content.facts).toContainEqual([
      'webhook "On call"',
      'the destination returned an unexpected status (HTTP 503); attempts 4 of 9 (ntA)',
    ]);
    expect(factLines(content.facts)).toContain('(ntA)\nNext attempt: 2026-01-01 06:10:00 UTC\nnotification: deleted');
    expect(content.facts).toContainEqual(['notification', 'deleted (ntB)']);
  });

  it('says which destination the service cannot read', () => {
    const destination = { notificationId: 'ntB', notification: undefined, record: undefined, isUnreadable: true };
    const { content } = noticeTable.unreached(alertOf(alarmHeader()), [destination]);
    expect(content.facts).toContainEqual(['notification', 'cannot be read by the service (ntB)']);
  });

  it('lists at most 26 destinations, and the number of the others', () => {
    const destinations = Array.from({ length: 26 }, (_, index) => ({
      notificationId: `nt${index}`,
      notification,
      record: failingRecord(),
    }));
    const { content } = noticeTable.unreached(alertOf(alarmHeader()), destinations, 29_700);
    expect(content.subject).toBe('CRITICAL on web-1, Disk space: none of its 29700 destinations could be reached');
    expect(content.facts.filter(([name]) => name.startsWith('webhook'))).toHaveLength(26);
    expect(content.facts.at(-2)).toEqual(['and 29674 more', 'none of them could be reached']);
  });

  it('lists at most ten unknown notifications of a plan', () => {
    const ids = Array.from({ length: 12 }, (_, index) => `nt${index}`);
    expect(noticeTable.unknownPlan(alertOf(alarmHeader()), ids).content.facts.at(-2)).toEqual([
      'Unknown notifications',
      'nt0, nt1, nt2, nt3, nt4, nt5, nt6, nt7, nt8, nt9 and 2 more',
    ]);
  });

  it.each([
    { name: 'a timestamp', timestamp: MORNING_MS - 5_000, id: 'acme:en:al', time: MORNING_MS - 5_000 },
    { name: 'a time in its ID', id: `acme:en:al:ch:${MORNING_MS - 7_000}:CRITICAL`, time: MORNING_MS - 7_000 },
    { name: 'no time', id: 'acme:en:al', time: MORNING_MS - 3_000 },
  ])('has the incident and the times of an alert with $name, so that it never follows a newer one', (given) => {
    const { id: event_id, timestamp, time: producedAtMs } = given;
    const acceptedAtMs = MORNING_MS - 3_000;
    const event = eventHeader(alarmEvent({ event_id, details: { state: 'CRITICAL', timestamp } }), acceptedAtMs);
    const notice = noticeTable.unreached({ event, acceptedAtMs, atMs: MORNING_MS }, []);
    const body = readDelivery(noticeBody({ id: 'ntA' }, notice, {}, MORNING_MS));
    expect(body.event.incident_key).toBe(event.incident_key);
    expect([body.event.produced_at_ms, body.accepted_at_ms]).toEqual([producedAtMs, acceptedAtMs]);
  });

  it('says in an SMS that the alert reached nobody, and what the alert was', () => {
    const event = alarmHeader({ details: { state: 'CRITICAL', status: 'Disk is 98 % full' } });
    expect(smsMessage({ event: headerOf(unreached(event).event) })).toMatch(
      /^\[CRITICAL\] web-1: .*: Escalated: none of its 2 destinations could be reached\. Disk is 98 % full$/,
    );
  });
});

it.each([
  [3, ['web-1: Disk', 'db: Load', 'al'], 'a summary of 3 alarms could not be delivered: web-1: Disk, db: Load, al'],
  [312, ['web-1: Disk'], 'a summary of 312 alarms could not be delivered: web-1: Disk and 311 more'],
  [1, undefined, 'a summary of 1 alarm could not be delivered'],
])('the escalation of a summary of %i alarms names the first ones, %j', (alarm_count, alarm_names, problem) => {
  expect(summaryProblem({ alarm_count, alarm_names })).toBe(problem);
});

it.each(failureReasons)('a failure in words exists for the reason %s', (reason) => {
  expect(failureText(reason, undefined)).toMatch(/^[a-zA-Z]/);
  expect(failureText(reason, 503)).toBe(`${failureText(reason, undefined)} (HTTP 503)`);
});
