import { SegmentedMessage } from 'sms-segments-calculator';
import { describe, expect, it } from 'vitest';
import { type SummarizedAlert, type Summary, statesBySeverity, summaryOf } from '../../../shared/domain/summary.ts';
import { summaryEmail, summarySms } from '../../../shared/pipeline/transports/summary-message.ts';

const SINCE_MS = Date.UTC(2026, 0, 1, 12, 3, 4);

const alert = (incident: string, name: string, state: SummarizedAlert['state']): SummarizedAlert => ({
  incident,
  name,
  state,
  atMs: SINCE_MS,
  sortKey: '',
});

/** Returns a summary of two alerts of each of these alarms, and one of another that has recovered. */
const summaryOfNames = (names: readonly string[]): Summary =>
  summaryOf(
    [
      ...names.flatMap((name, index) => Array(2).fill(alert(String(index), name, 'CRITICAL'))),
      alert('db', 'db: Load', 'OK'),
    ],
    0,
  );

const summaryWith = (count: number, label = 'web'): Summary =>
  summaryOfNames(Array.from({ length: count }, (_, index) => `${label}-${index}: Disk`));

const notice = {
  kind: 'summary' as const,
  subject: 'Alerts from 2026-01-01 12:00 UTC to 2026-01-01 12:05 UTC',
  paragraphs: ['Why.'],
  facts: [],
};

describe('the email of a summary', () => {
  it('says what is wrong now, then what has recovered', () => {
    const { subject, text } = summaryEmail(summaryWith(1), notice);
    expect(subject).toBe('3 alerts of 2 alarms: 1 CRITICAL, 1 OK');
    expect(text).toBe(
      [
        '3 alerts of 2 alarms: 1 CRITICAL, 1 OK',
        'Alerts from 2026-01-01 12:00 UTC to 2026-01-01 12:05 UTC.',
        'Why.',
        'CRITICAL now\n- web-0: Disk (since 2026-01-01 12:03:04 UTC, 1 change)',
        'Recovered: OK now\n- db: Load (since 2026-01-01 12:03:04 UTC, 1 change)\n',
      ].join('\n\n'),
    );
  });

  it('counts the alarms that it does not list', () => {
    const { text, html } = summaryEmail(summaryWith(3_472), notice);
    expect(text).toContain('- and 3,412 more');
    expect(html).toContain('<li>and 3,412 more</li>');
  });

  it.each([
    ['long names', '😀', 110_000],
    ['names that HTML escapes', '"', 160_000],
  ])('has at most so many bytes with %s', (_, character, maxBytes) => {
    const alerts = statesBySeverity.flatMap((state) =>
      Array.from({ length: 100 }, (_, index) => alert(`${state}${index}`, character.repeat(120), state)),
    );
    expect(Buffer.byteLength(summaryEmail(summaryOf(alerts, 0), notice).html)).toBeLessThan(maxBytes);
  });

  it('escapes names in HTML, and wraps long ones', () => {
    const { html } = summaryEmail(summaryWith(1, '<img>'), notice);
    expect(html).not.toContain('<img>');
    expect(html).toContain('overflow-wrap:anywhere');
  });
});

describe('the SMS of a summary', () => {
  it('has the alarms per state, and the names that fit', () => {
    expect(summarySms(summaryWith(1))).toBe('3 alerts of 2 alarms: 1 CRITICAL, 1 OK. web-0: Disk, db: Load');
  });

  it('has the beginning of a name if none fits', () => {
    expect(summarySms(summaryOf([alert('a', '漢'.repeat(60), 'CRITICAL')], 0))).toBe(
      `1 alert of 1 alarm: 1 CRITICAL. ${'漢'.repeat(38)}`,
    );
  });

  it('has the names that fit, although a more severe one is too long', () => {
    expect(summarySms(summaryOfNames(['漢'.repeat(60), 'web: Disk']))).toBe(
      '5 alerts of 3 alarms: 2 CRITICAL, 1 OK. web: Disk, db: Load',
    );
  });

  it.each(['web', '😀'.repeat(30), 'x'.repeat(120)])('has one part: %s', (label) => {
    const text = summarySms(summaryWith(3_472, label));
    expect(text).toMatch(/^6,945 alerts of 3,473 alarms: 3,472 CRITICAL, 1 OK/);
    expect(new SegmentedMessage(text).segments).toHaveLength(1);
  });
});
