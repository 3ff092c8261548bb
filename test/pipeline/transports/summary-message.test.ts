import { SegmentedMessage } from 'sms-segments-calculator';
import { describe, expect, it } from 'vitest';
import type { NoticeContent } from '../../../shared/contracts/notice.ts';
import { type SummarizedAlarm, type Summary, statesBySeverity, summaryOf } from '../../../shared/domain/summary.ts';
import { summaryEmail } from '../../../shared/pipeline/transports/email-message.ts';
import { summarySms } from '../../../shared/pipeline/transports/sms.ts';
import { wordsOf } from '../../support/words-of-html.ts';

const SEEN_MS = Date.UTC(2026, 0, 1, 12, 3, 4);

const alarm = (name: string, state: SummarizedAlarm['state'], changes: Partial<SummarizedAlarm> = {}) => ({
  incident: name,
  name,
  state,
  status: '',
  atMs: SEEN_MS,
  sortKey: '',
  ...changes,
});

/** Returns a summary of critical alarms, and of one that has recovered. */
const summaryOfNames = (names: readonly string[]): Summary =>
  summaryOf([...names.map((name) => alarm(name, 'CRITICAL')), alarm('db: Load', 'OK')], 0);

const summaryWith = (count: number, label = 'web'): Summary =>
  summaryOfNames(Array.from({ length: count }, (_, index) => `${label}-${index}: Disk`));

const notice = {
  kind: 'summary' as const,
  subject: 'Summary of alerts',
  paragraphs: ['Why.'],
  facts: [
    ['From', Date.UTC(2026, 0, 1, 12)],
    ['To', Date.UTC(2026, 0, 1, 12, 5)],
  ] satisfies NoticeContent['facts'],
};

describe('the email of a summary', () => {
  it('says what is wrong, then what has recovered, by the minute when it was seen', () => {
    const { subject, text } = summaryEmail(
      summaryOf(
        [
          alarm('db: Load', 'OK', { status: 'Load is 0.7', atMs: SEEN_MS + 60_000 }),
          alarm('web-0: Disk', 'CRITICAL', { atMs: SEEN_MS - 86_400_000 }),
          alarm('web-1: Disk', 'CRITICAL', { status: 'Full' }),
          alarm('web-2: Disk', 'CRITICAL', { atMs: SEEN_MS + 1_000 }),
        ],
        0,
      ),
      notice,
    );
    expect(subject).toBe('4 alarms: 3 CRITICAL, 1 OK');
    expect(text).toBe(
      [
        '4 alarms: 3 CRITICAL, 1 OK',
        'Alerts from 2026-01-01 12:00 UTC to 2026-01-01 12:05 UTC.',
        'CRITICAL\n2025-12-31 12:03 UTC\n- web-0: Disk\n12:03 UTC\n- web-1: Disk: Full\n- web-2: Disk',
        'OK\n12:04 UTC\n- db: Load: Load is 0.7',
        'Why.',
        'Each alarm has the state of its newest alert in this message. Later alerts arrive separately.\n',
      ].join('\n\n'),
    );
  });

  it('has all times in the time zone of the account', () => {
    const { text } = summaryEmail(
      summaryOf([alarm('db: Load', 'OK'), alarm('web-0: Disk', 'CRITICAL', { atMs: SEEN_MS - 7 * 3_600_000 })], 0),
      notice,
      'Asia/Kathmandu',
    );
    expect(text).toContain('Alerts from 2026-01-01 17:45 UTC+05:45 to 2026-01-01 17:50 UTC+05:45.');
    expect(text).toContain('OK\n17:48 UTC+05:45\n');
    // In UTC, it was seen on another day.
    expect(text).toContain('CRITICAL\n10:48 UTC+05:45\n');
    expect(text).not.toMatch(/UTC(?!\+05:45)/);
  });

  it('counts the alarms that it does not list', () => {
    const { text, html } = summaryEmail(summaryWith(3_472), notice);
    const listed = html.split('<b>').length - 1;
    const more = `And ${(3_473 - listed).toLocaleString('en-US')} more alarms: see the delivery history`;
    expect(text).toContain(more);
    expect(html).toContain(more);
  });

  it('lists 600 alarms with names and texts of usual length', () => {
    const alarms = Array.from({ length: 700 }, (_, index) =>
      alarm(`web-server-${index}.example.com: Disk space on /var`, 'CRITICAL', { status: 'Disk /var is 97 % full' }),
    );
    const { html, text } = summaryEmail(summaryOf(alarms, 0), notice, 'Asia/Kathmandu');
    expect(html.split('<b>').length - 1).toBeGreaterThanOrEqual(600);
    expect(text.split('\n- ').length - 1).toBe(html.split('<b>').length - 1);
  });

  it.each(['😀', '"', 'é'])('has at most 90 KB of HTML, with long names and texts of %s', (character) => {
    const alarms = statesBySeverity.flatMap((state) =>
      Array.from({ length: 400 }, (_, index) =>
        alarm(`${index}${character.repeat(117)}`, state, { status: character.repeat(120) }),
      ),
    );
    const { html } = summaryEmail(summaryOf(alarms, 0), notice, 'Asia/Kathmandu');
    expect(Buffer.byteLength(html)).toBeLessThanOrEqual(90_000);
  });

  it('escapes names in HTML', () => {
    expect(summaryEmail(summaryWith(1, '<img>'), notice).html).not.toContain('<img>');
  });

  it('has the most severe state as its first word in HTML', () => {
    expect(wordsOf(summaryEmail(summaryWith(1), notice).html)).toMatch(/^CRITICAL 2 alarms: 1 CRITICAL, 1 OK /);
    expect(wordsOf(summaryEmail(summaryOf([alarm('db: Load', 'OK')], 0), notice).html)).toMatch(/^OK 1 alarm/);
  });
});

describe('the SMS of a summary', () => {
  it('has the alarms per state, and the names that fit', () => {
    expect(summarySms(summaryWith(1))).toBe('2 alarms: 1 CRITICAL, 1 OK. web-0: Disk, db: Load');
  });

  it('has the beginning of a name if none fits', () => {
    expect(summarySms(summaryOf([alarm('漢'.repeat(60), 'CRITICAL')], 0))).toBe(
      `1 alarm: 1 CRITICAL. ${'漢'.repeat(49)}`,
    );
  });

  it('has the names that fit, although a more severe one is too long', () => {
    expect(summarySms(summaryOfNames(['漢'.repeat(60), 'web: Disk']))).toBe(
      '3 alarms: 2 CRITICAL, 1 OK. web: Disk, db: Load',
    );
  });

  it.each(['web', '😀'.repeat(30), 'x'.repeat(120)])('has one part: %s', (label) => {
    const text = summarySms(summaryWith(1_199, label));
    expect(text).toMatch(/^1,200 alarms: 1,199 CRITICAL, 1 OK/);
    expect(new SegmentedMessage(text).segments).toHaveLength(1);
  });
});
