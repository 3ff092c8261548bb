import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { count, tally } from '../../shared/adapters/metrics.ts';

let lines: string[] = [];
beforeEach(() => {
  lines = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const written = () => lines.map((line): unknown => JSON.parse(line));

describe('metrics', () => {
  it('are written as one log line with all durations of a batch', () => {
    count({ delivered: 2, retried: 1 }, { type: 'webhook' }, { delivery_latency: [120, 80] });
    expect(written()).toEqual([
      expect.objectContaining({ type: 'webhook', delivered: 2, retried: 1, delivery_latency: [120, 80] }),
    ]);
    expect(lines[0]).toContain('{"Name":"delivery_latency","Unit":"Milliseconds"}');
    expect(lines[0]).toContain('"Namespace":"MonitoringNotifications","Dimensions":[["service","type"]]');
  });

  it('are omitted if they are 0; no line is written if all are 0', () => {
    count({ failed: 0 }, { type: 'sms' }, { delivery_latency: [] });
    expect(lines).toEqual([]);
    count({ failed: 0, delivered: 1 });
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toContain('failed');
  });

  it('keep their dimensions if their values need several lines', () => {
    const health = { handled: 250, internalErrors: 0, oldestUnprocessedSeconds: 0 };
    count({ delivered: 250 }, { type: 'webhook' }, { delivery_latency: Array(250).fill(5) }, health);
    expect(lines).toHaveLength(3);
    for (const line of written()) expect(line).toMatchObject({ type: 'webhook' });
    expect(written()[0]).toMatchObject({
      handled: 250,
      internal_errors: 0,
      oldest_unprocessed_seconds: 0,
      delivered: 250,
    });
  });

  it('include the health of a batch even if its values are 0', () => {
    count({}, { type: 'webhook' }, {}, { handled: 0, internalErrors: 1, oldestUnprocessedSeconds: 7 });
    expect(written()).toEqual([
      expect.objectContaining({ handled: 0, internal_errors: 1, oldest_unprocessed_seconds: 7 }),
    ]);
  });

  it('do not keep the dimensions of an earlier call', () => {
    count({ delivered: 1 }, { type: 'email' });
    count({ events: 1 });
    expect(lines[1]).not.toContain('email');
  });
});

describe('tally', () => {
  it('counts the occurrences of each name', () => {
    expect(tally(['a', 'b', 'a'])).toEqual({ a: 2, b: 1 });
  });
});
