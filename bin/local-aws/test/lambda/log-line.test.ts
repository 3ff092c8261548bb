import { expect, it } from 'vitest';
import { logLine } from '../../lambda/log-line.ts';
import { isStored, reportLine } from '../../lambda/logging.ts';

const now = new Date('2026-01-01T10:11:12.345Z');

it.each([
  [
    'a structured line',
    {
      level: 'WARN',
      message: 'it failed',
      timestamp: 'x',
      service: 'y',
      cold_start: true,
      id: 'nt1',
      reason: 'no answer',
      count: 2,
    },
    'WARN it failed id=nt1 reason="no answer" count=2',
  ],
  [
    'a metric',
    {
      _aws: {
        Timestamp: 1,
        CloudWatchMetrics: [{ Namespace: 'n', Dimensions: [['service', 'type']], Metrics: [{ Name: 'sent' }] }],
      },
      service: 's',
      type: 'sms',
      sent: 3,
    },
    'metric sent=3 type=sms',
  ],
  [
    'stack frames',
    { level: 'ERROR', message: 'it failed', at: ['at send (index.js:1:2)', 'at async index.js:3:4'], ids: ['a', 'b'] },
    'ERROR it failed ids=["a","b"]\n    at send (index.js:1:2)\n    at async index.js:3:4',
  ],
  ['other JSON', { a: 1 }, '{"a":1}'],
])('formats %s for reading', (_, line, formatted) => {
  expect(logLine('work', JSON.stringify(line), now)).toBe(`10:11:12.345 work ${formatted}`);
});

it('escapes control and format characters of values, so that they neither change the terminal nor reorder the line', () => {
  const id = '\u001b]0;title\u0007\u009b2J\u202eevent\u2028';
  const escaped = String.raw`\u001b]0;title\u0007\u009b2J\u202eevent\u2028`;
  const line = JSON.stringify({ level: 'WARN', message: `it failed: ${id}`, event_id: id, ids: [id] });
  expect(logLine('work', line, now)).toBe(
    `10:11:12.345 work WARN it failed: ${escaped} event_id="${escaped}" ids=["${escaped}"]`,
  );
  expect(logLine('work', id, now)).toBe(`10:11:12.345 work ${escaped}`);
});

it('indents further lines of a text, so that a value cannot imitate a line of the log', () => {
  expect(logLine('work', 'Error: bad\n10:11:12.346 work INFO forged\ncaused by Error: worse', now)).toBe(
    '10:11:12.345 work Error: bad\n    10:11:12.346 work INFO forged\n    caused by Error: worse',
  );
});

it('stores the lines of a function without a level, as metrics have none, and from INFO on', () => {
  for (const line of ['{"_aws":{}}', 'text', '{"level":"INFO"}', '{"level":"error"}']) {
    expect([line, isStored(line)]).toEqual([line, true]);
  }
  expect(isStored('{"level":"DEBUG"}')).toBe(false);
});

it.each([
  ['TypeError', 'error'],
  ['Sandbox.Timedout', 'timeout'],
  ['Runtime.ExitError', 'failure'],
])('the report of an invocation names how it failed: %s', (errorType, status) => {
  const line = reportLine({ requestId: 'r1', durationMs: 5, errorType }, new Date(0));
  expect(JSON.parse(line).record).toEqual({ requestId: 'r1', metrics: { durationMs: 5 }, status });
});
