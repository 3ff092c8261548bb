import { expect, it } from 'vitest';
import { deliveriesJson, deliveryColumns } from '../../bin/ops/deliveries.ts';
import { formatTable } from '../../bin/ops/print.ts';
import { reportColumns } from '../../bin/ops/report.ts';
import { deliveryRecord } from '../support/delivery-records.ts';

it('a table aligns what a terminal shows, numbers to the right', () => {
  const rows = [
    { label: '監視', count: 1 },
    { label: 'abc', count: 100_000 },
  ];
  const text = formatTable(rows, [
    ['label', ({ label }) => label],
    ['count', ({ count }) => count],
    ['', ({ count }) => (count > 1 ? 'many' : '')],
  ]);
  expect(text).toBe('label   count\n監視        1\nabc    100000  many\n');
});

it('a report rounds shares down, except for inexact floating-point numbers', () => {
  const day = {
    date: '2026-11-22',
    deliveries_planned: 1,
    deliveries_delivered: 1,
    deliveries_failed: 1,
    deliveries_superseded: 1,
    deliveries_summarized: 1,
    deliveries_cancelled: 1,
    deliveries_repeated: 1,
    shares: [0.57, 0.99999, 1].map((share, index) => ({ within_seconds: index, share })),
    p50_ms: 1,
    p99_ms: null,
    first_attempt_p50_ms: null,
    first_attempt_p99_ms: null,
  };
  expect(formatTable([day], reportColumns)).toMatch(/ 57\.00 % +99\.99 % +100\.00 % +1 +– /);
});

it('deliveries show equal attempts once, and the reason', async () => {
  const attempt = { timestamp_ms: 0, result: 'transient', reason: 'http_status', duration_ms: 1, status: 503 } as const;
  const record = deliveryRecord({ tenant: 'acme', notificationId: 'ntA' }, 'e', {
    status: 'superseded',
    newer_event_at_ms: 1,
    attempts: [attempt, attempt, { ...attempt, status: 500 }],
  });
  const rows = await deliveriesJson(
    {
      deliveries: { listConflicts: async () => new Map() },
      notifications: { targets: () => ({ find: async () => undefined }) },
    },
    [record],
  );
  expect(formatTable(rows, deliveryColumns(rows, false))).toMatch(
    / superseded +older_timestamp +transient 503 ×2, transient 500\n$/,
  );
});
