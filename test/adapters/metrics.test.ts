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

describe('what is counted and timed at once', () => {
  it('is one line, with every time of a batch', () => {
    count({ delivered: 2, retried: 1 }, { type: 'webhook' }, { delivery_latency: [120, 80] });
    expect(written()).toEqual([
      expect.objectContaining({ type: 'webhook', delivered: 2, retried: 1, delivery_latency: [120, 80] }),
    ]);
    expect(lines[0]).toContain('{"Name":"delivery_latency","Unit":"Milliseconds"}');
    expect(lines[0]).toContain('"Namespace":"MonitoringNotifications","Dimensions":[["service","type"]]');
  });

  it('is no line where there is nothing, and names nothing that is 0', () => {
    count({ failed: 0 }, { type: 'sms' }, { delivery_latency: [] });
    expect(lines).toEqual([]);
    count({ failed: 0, delivered: 1 });
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toContain('failed');
  });

  it('keeps the dimensions of every value where there are more of them than a line holds', () => {
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

  it('says how a batch went, zeros included', () => {
    count({}, { type: 'webhook' }, {}, { handled: 0, internalErrors: 1, oldestUnprocessedSeconds: 7 });
    expect(written()).toEqual([
      expect.objectContaining({ handled: 0, internal_errors: 1, oldest_unprocessed_seconds: 7 }),
    ]);
  });

  it('does not carry dimensions over to what is counted next', () => {
    count({ delivered: 1 }, { type: 'email' });
    count({ events: 1 });
    expect(lines[1]).not.toContain('email');
  });
});

describe('a tally', () => {
  it('counts each word', () => {
    expect(tally(['a', 'b', 'a'])).toEqual({ a: 2, b: 1 });
  });
});
