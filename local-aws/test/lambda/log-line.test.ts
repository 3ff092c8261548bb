import { expect, it } from 'vitest';
import { logLine } from '../../lambda/log-line.ts';

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

it('adds only the time and function to other text', () => {
  expect(logLine('work', '{ not json', now)).toBe('10:11:12.345 work { not json');
  expect(logLine('work', 'plain', now)).toBe('10:11:12.345 work plain');
});
