import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { deliveriesJson, deliveryColumns } from '../../bin/ops/deliveries.ts';
import { formatTable, toJson } from '../../bin/ops/print.ts';
import { reportColumns, summarize } from '../../bin/ops/report.ts';
import { deliveryRecord } from '../support/delivery-records.ts';
import { runs } from '../support/quick-run.ts';

/** Characters that a terminal interprets, or that reorder or hide text. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const text = fc.string({
  unit: fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.nat(0xff).map((code) => String.fromCharCode(code)),
  ),
});

it('JSON contains no character that a terminal interprets, and is equal when it is parsed', () => {
  fc.assert(
    fc.property(fc.dictionary(text, fc.array(text)), (value) => {
      const json = toJson(value);
      expect(json).not.toMatch(UNSAFE);
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)));
    }),
    { numRuns: runs(1_000) },
  );
  expect(toJson({ label: 'a\u009b2Jb\u007f' })).toBe('{"label":"a\\u009b2Jb\\u007f"}');
  expect(toJson('\u{e0041}')).toBe('"\\udb40\\udc41"');
});

it('JSON contains the digits of numbers that a double cannot represent', () => {
  expect(toJson({ id: JSON.rawJSON('9007199254740993') })).toBe('{"id":9007199254740993}');
});

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
  const record = deliveryRecord({ tenant: 'acme', id: 'ntA' }, 'e', {
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

it('ten events that are sent twice are ten planned and ten delivered, and all in time', () => {
  const day = { deliveries_planned: 20, deliveries_repeated: 10, deliveries_delivered: 10 };
  const report = summarize([{ ...day, SampleCount: 10, 'PR(:10000)': 100, 'PR(:60000)': 100, 'PR(:300000)': 100 }]);
  expect(report).toMatchObject({ deliveries_planned: 10, deliveries_delivered: 10, deliveries_repeated: 10 });
  expect(report.shares.map(({ share }) => share)).toEqual([1, 1, 1]);
});

it('a repeat on the day after its delivery plans nothing', () => {
  expect(summarize([{ deliveries_planned: 1, deliveries_repeated: 1 }])).toMatchObject({
    deliveries_planned: 0,
    shares: [{ share: null }, { share: null }, { share: null }],
  });
});

/** Runs `event example` in a shell, with standard output as in `redirection`. */
const example = (redirection: string) => {
  const command = `set -o pipefail; "$0" bin/ops.ts event example ${redirection}`;
  const options = { cwd: resolve(import.meta.dirname, '../..'), encoding: 'utf8' } as const;
  const { status, stderr } = spawnSync('bash', ['-c', command, process.execPath], options);
  return { status, stderr };
};

it('fails if the output cannot be written, for example because the disk is full', () => {
  expect(example('> /dev/full')).toEqual({
    status: 1,
    stderr: expect.stringMatching(/^The output cannot be written: ENOSPC.*\n$/),
  });
});

it('ends without an error if the reader of a pipe closes it', () => {
  expect(example('| true')).toEqual({ status: 0, stderr: '' });
});
