import { SegmentedMessage } from 'sms-segments-calculator';
import { describe, expect, it } from 'vitest';
import type { Summary } from '../../../shared/domain/summary.ts';
import { summaryEmail, summarySms } from '../../../shared/pipeline/transports/summary-message.ts';

const SINCE_MS = Date.UTC(2026, 0, 1, 12, 3, 4);

const summaryWith = (count: number, label = 'web'): Summary => ({
  count: 2 * count + 1,
  unevaluated: 0,
  alarms: [
    ...Array.from({ length: count }, (_, index) => ({
      name: `${label}-${index}: Disk`,
      state: 'CRITICAL' as const,
      sinceMs: SINCE_MS,
      changes: 2,
    })),
    { name: 'db: Load', state: 'OK', sinceMs: SINCE_MS, changes: 1 },
  ],
});

const notice = {
  kind: 'summary' as const,
  subject: 'Alerts from 2026-01-01 12:00 UTC to 2026-01-01 12:05 UTC',
  paragraphs: ['Why.'],
  facts: [],
};

describe('the email of a summary', () => {
  it('says what is wrong now, then what has recovered', () => {
    const { subject, text } = summaryEmail(summaryWith(1), notice);
    expect(subject).toBe('3 alerts: 1 CRITICAL, 1 OK');
    expect(text).toBe(
      [
        '3 alerts: 1 CRITICAL, 1 OK',
        'Alerts from 2026-01-01 12:00 UTC to 2026-01-01 12:05 UTC.',
        'Why.',
        'CRITICAL now\n- web-0: Disk (since 2026-01-01 12:03:04 UTC, 2 changes)',
        'Recovered: OK now\n- db: Load (since 2026-01-01 12:03:04 UTC, 1 change)\n',
      ].join('\n\n'),
    );
  });

  it('counts the alarms that it does not list, and stays below 100 KB', () => {
    const { text, html } = summaryEmail(summaryWith(3_472, '😀'.repeat(100)), notice);
    expect(text).toContain('- and 3,412 more');
    expect(html).toContain('<li>and 3,412 more</li>');
    expect(Buffer.byteLength(html)).toBeLessThan(100_000);
  });

  it('escapes names in HTML', () => {
    expect(summaryEmail(summaryWith(1, '<img>'), notice).html).not.toContain('<img>');
  });
});

describe('the SMS of a summary', () => {
  it('has the alarms per state, and the names that fit', () => {
    expect(summarySms(summaryWith(1))).toBe('3 alerts: 1 CRITICAL, 1 OK. web-0: Disk, db: Load');
  });

  it.each(['web', '😀'.repeat(30), 'x'.repeat(120)])('has one part: %s', (label) => {
    const text = summarySms(summaryWith(3_472, label));
    expect(text).toMatch(/^6,945 alerts: 3472 CRITICAL, 1 OK/);
    expect(text).not.toMatch(/-\d+: Di?s?$/);
    expect(new SegmentedMessage(text).segments).toHaveLength(1);
  });
});
