import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { deadLetterColumns } from '../../bin/ops/dead-letters.ts';
import { deliveryColumns, deliveryJson } from '../../bin/ops/deliveries.ts';
import { otherQueueNames, queueNames } from '../../bin/ops/deployment.ts';
import { timelineColumns } from '../../bin/ops/event-trace.ts';
import { failureColumns } from '../../bin/ops/failures.ts';
import { reportColumns } from '../../bin/ops/report.ts';
import { shortenedIdMatcher, shortenId, truncateText } from '../../bin/ops/shorten.ts';
import { alarmColumns, outcomeColumns, queueColumns } from '../../bin/ops/status.ts';
import { type Column, type FormattedTable, formatTable } from '../../bin/ops/table.ts';
import { tenantColumns } from '../../bin/ops/tenants.ts';
import { tokenColumns } from '../../bin/ops/token.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { deliveryStatuses, failureReasons, messageOutcomes } from '../../shared/contracts/outcomes.ts';
import { withSummary } from '../../shared/domain/delivery-record.ts';
import { deliveryRecord } from '../support/delivery-records.ts';

const TIME = '2026-11-20T09:04:35.123Z';
const IDS = Array.from(
  { length: 30 },
  (_, index) => `nt01M7W36KGQDJ8S2D76FCWK${(index * 37).toString(36).padStart(4, '0')}`,
);
const eventId = (index: number) =>
  `hybrid:1234567:enAbCdEfGhIj:alKlMnOpQrSt:chUvWxYz1234:${1_795_165_475_016 + index * 1_001}:CRITICAL`;
const widest = <Text extends string>(texts: readonly Text[]) => texts.toSorted((a, b) => b.length - a.length)[0] ?? '';
const TENANT = 'a-tenant-with-a-name-of-the-maximum-length-'.padEnd(128, 'x');

const attempts = [503, 500, 429, 502, 503, 504, 500, 503, 410].map((http_status) => ({
  time: TIME,
  outcome: 'transient' as const,
  http_status,
  reason: 'http_status' as const,
  duration_ms: 15_000,
}));
const deliveries = IDS.flatMap((notification, index) =>
  deliveryStatuses.map((status) => ({
    time: TIME,
    notification,
    event: eventId(index),
    entity: 'enAbCdEfGhIj',
    alarm: 'alKlMnOpQrSt',
    state: 'CRITICAL' as const,
    status,
    reason: status === 'superseded' ? ('older_timestamp' as const) : null,
    attempts_of_round: 9,
    next_attempt: null,
    attempts,
    conflict: null,
  })),
);
const steps = IDS.map((notification) => ({
  time: TIME,
  step: 'notice: next attempt',
  notification,
  result: `transient 503 ${widest(failureReasons)}, 15000 ms`,
}));
const deadLetters = IDS.flatMap((notification, index) =>
  failureReasons.map((reason) => ({
    time: TIME,
    type: widest(notificationTypeIds),
    reason,
    cause: 'destination',
    detail: undefined,
    warnings: undefined,
    attempts: 9,
    tenant: TENANT,
    notification,
    event: eventId(index),
    producer_message_id: undefined,
    source_arn: undefined,
    message_id: '3f0c7a5e-52bd-4a0b-9a55-0e6b1f4f6d1c',
    delivery_status: 'superseded' as const,
  })),
);
const crashed = deadLetters.map((letter, index) => ({
  ...letter,
  ...(index > 0 && { type: 'crashed', event: undefined }),
  source_arn: 'arn:aws:sqs:eu-west-1:1:retries',
}));
const queues = new Map([['retries', { label: `${widest(notificationTypeIds)} retries` }]]);

/** Every table of the command line with the widest realistic data. */
const day = {
  date: '2026-11-22',
  deliveries_planned: 12_345_678,
  deliveries_delivered: 12_345_678,
  deliveries_failed: 12_345_678,
  deliveries_superseded: 12_345_678,
  deliveries_summarized: 12_345_678,
  deliveries_cancelled: 12_345_678,
  deliveries_repeated: 12_345_678,
  shares: [
    { within_seconds: 10, share: 0.57 },
    { within_seconds: 60, share: 0.99999 },
    { within_seconds: 300, share: 1 },
  ],
  p50_ms: 123_456,
  p99_ms: 1_234_567,
};

const tables: [name: string, format: (maxWidth: number) => FormattedTable][] = [
  ['deliveries', (width) => formatTable(deliveries, deliveryColumns(deliveries), width)],
  [
    'deliveries with reused event IDs',
    (width) => {
      const rows = deliveries.map((row) => ({ ...row, conflict: TIME }));
      return formatTable(rows, deliveryColumns(rows), width);
    },
  ],
  [
    'failures',
    (width) =>
      formatTable(
        IDS.map((notification) => ({
          notification,
          type: 'technicalContactsEmail' as const,
          failed: 1_000_000,
          first_failed: TIME,
          last_failed: TIME,
          reason: widest(failureReasons) || null,
          last_delivered: TIME,
        })),
        failureColumns,
        width,
      ),
  ],
  ['what happened to an event', (width) => formatTable(steps, timelineColumns, width)],
  ['dead letters', (width) => formatTable(deadLetters, deadLetterColumns(deadLetters, queues), width)],
  ['crashed messages', (width) => formatTable(crashed, deadLetterColumns(crashed, queues), width)],
  [
    'tokens',
    (width) =>
      formatTable(
        IDS.map(() => ({
          id: 'tk01M7ZZ2AQ9MC8P6P3KH5Y23K83',
          role: 'observer' as const,
          issuer: 'tk01M7ZZ2AQ9MC8P6P3KH5Y23K83',
          label: '監視コンソール 🛰️ '.repeat(14),
          created: TIME,
          expires: TIME,
          expired: true,
        })),
        tokenColumns,
        width,
      ),
  ],
  [
    'queues',
    (width) =>
      formatTable(
        [...queueNames, ...otherQueueNames].map((queue) => ({
          queue,
          visible: 12_000_000,
          in_flight: 120_000,
          delayed: 120_000,
          oldest_seconds: 345_600,
          dead_letters: 12_000_000,
        })),
        queueColumns,
        width,
      ),
  ],
  [
    'tenants',
    (width) =>
      formatTable(
        IDS.map(() => ({
          tenant: TENANT,
          notifications: 100_000,
          tokens: 100,
          alerts_24h: { total: 10_000_000, failed: 10_000_000 },
          usage_today: { email: 1_000_000, sms: 100_000, managed: 10_000, tests: 1_000, redeliveries: 100_000 },
          shadow: { from: TIME, until: null },
        })),
        tenantColumns,
        width,
      ),
  ],
  ['days of a report', (width) => formatTable([day], reportColumns, width)],
  [
    'alarms',
    (width) =>
      formatTable(
        IDS.map((id) => ({
          name: `MonitoringNotifications-${id}-`.padEnd(200, 'x'),
          state: 'INSUFFICIENT_DATA',
          since: TIME,
        })),
        alarmColumns,
        width,
      ),
  ],
  [
    'outcomes',
    (width) =>
      formatTable(
        notificationTypeIds.flatMap((type) => messageOutcomes.map((outcome) => ({ type, outcome, deliveries: 1e9 }))),
        outcomeColumns,
        width,
      ),
  ],
];

it('rounds shares of a report down, except for inexact floating-point numbers', () => {
  const { text } = formatTable([day], reportColumns, Number.POSITIVE_INFINITY);
  expect(text).toMatch(/ 57\.00 % +99\.99 % +100\.00 % /);
});

const widths = (text: string) => text.split('\n').map((line) => stringWidth(line));

describe('a table', () => {
  it.each(tables)('of %s fits 80 columns', (_, format) => {
    expect(Math.max(...widths(format(80).text))).toBeLessThanOrEqual(80);
  });

  it.each([
    ['deliveries', ['notification', 'event', 'status', 'attempts'], ['state']],
    ['deliveries with reused event IDs', ['notification', 'event', 'status'], ['time', 'state', 'attempts']],
    ['dead letters', ['tenant', 'notification', 'event'], ['attempts']],
    ['crashed messages', ['type', 'tenant', 'notification', 'event', 'message'], ['attempts', 'source']],
  ])('of %s keeps the columns that identify a row, and names those it omits', (name, kept, dropped) => {
    const format = tables.find(([each]) => each === name)?.[1];
    const { text = '', omitted } = format?.(80) ?? {};
    expect(text.split('\n')[0]?.split(/ {2,}/)).toEqual(expect.arrayContaining(kept));
    expect(omitted).toEqual(expect.arrayContaining(dropped));
    expect(omitted?.filter((heading) => kept.includes(heading))).toEqual([]);
  });

  it.each(tables)('of %s is complete with --wide', (_, format) => {
    const { text, isCut, omitted } = format(Number.POSITIVE_INFINITY);
    expect([isCut, omitted]).toEqual([false, []]);
    expect(text).not.toContain('…');
  });

  it('of deliveries shows that an event was superseded because of its timestamp', () => {
    const { text } = formatTable(deliveries.slice(0, deliveryStatuses.length), deliveryColumns(deliveries), 80);
    const lines = text.split('\n').filter((line) => line.includes('older_timestamp'));
    expect(lines).toEqual([expect.stringContaining('superseded')]);
  });

  it('of deliveries has, as JSON, the summary that lists an alert', () => {
    const record = deliveryRecord({ tenant: 'acme', notificationId: IDS[0] ?? '' }, eventId(0));
    expect(deliveryJson(record)).not.toHaveProperty('summary');
    expect(deliveryJson(withSummary(record, 'a-summary', 0))).toMatchObject({
      status: 'summarized',
      summary: 'a-summary',
    });
  });

  it('is not changed if it fits', () => {
    const rows = [{ id: 'nt1', count: 1 }];
    const columns: Column<(typeof rows)[0]>[] = [
      ['id', ({ id }) => id, { cut: 'middle', minWidth: 3, omit: 1 }],
      ['count', ({ count }) => count],
    ];
    expect(formatTable(rows, columns, 80)).toEqual({ text: 'id   count\nnt1      1\n', isCut: false, omitted: [] });
  });

  it('cuts columns before it omits any, and omits the lowest number first', () => {
    const rows = [{ id: 'nt01M7W36KGQ', a: 'aaaa', b: 'bbbb' }];
    const columns: Column<(typeof rows)[0]>[] = [
      ['id', ({ id }) => id, { cut: 'middle', minWidth: 7 }],
      ['a', ({ a }) => a, { omit: 2 }],
      ['b', ({ b }) => b, { omit: 1 }],
    ];
    const line = (width: number) => formatTable(rows, columns, width).text.split('\n')[1];
    expect(line(22)).toBe('nt01M7…KGQ  aaaa  bbbb');
    expect(line(19)).toBe('nt01…GQ  aaaa  bbbb');
    expect(line(18)).toBe('nt01M7W36KGQ  aaaa');
    expect(line(12)).toBe('nt01M7W36KGQ');
  });

  it('never exceeds the width that its columns permit, for any text', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 40 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(text, text, text), { minLength: 1 }),
        fc.integer({ min: 30, max: 90 }),
        (rows, width) => {
          const columns: Column<[string, string, string]>[] = [
            ['a', ([a]) => a, { cut: 'middle', minWidth: 9 }],
            ['b', ([, b]) => b, { cut: 'end', minWidth: 9 }],
            ['c', ([, , c]) => c, { cut: 'start', minWidth: 8 }],
          ];
          expect(Math.max(...widths(formatTable(rows, columns, width).text))).toBeLessThanOrEqual(width);
        },
      ),
    );
  });
});

describe('a shortened ID', () => {
  it('has the start and the end of the ID, and fits no other one of the table', () => {
    expect(shortenId(IDS[0] ?? '', 13)).toBe('nt01M7W3…0000');
    for (const id of IDS) expect(IDS.filter((each) => shortenedIdMatcher(shortenId(id, 13))?.(each))).toEqual([id]);
    expect(shortenedIdMatcher('nt01M7W36KGQDJ8S2D76FCWK0003')).toBeUndefined();
  });
});

describe('a truncated text', () => {
  it('counts columns, not UTF-16 units', () => {
    expect(truncateText('監視監視', 5, 'end')).toBe('監視…');
    expect(truncateText('監視監視', 5, 'start')).toBe('…監視');
    expect(truncateText('👩‍👩‍👧‍👦abc', 4, 'end')).toBe('👩‍👩‍👧‍👦a…');
  });
});
