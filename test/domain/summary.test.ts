import { describe, expect, it } from 'vitest';
import type { AlarmState } from '../../shared/contracts/alarm-event.ts';
import {
  accountWindow,
  limitWindow,
  MAX_LISTED_ALARMS,
  type SummarizedAlert,
  summarizedAlert,
  summaryDueAtMs,
  summaryId,
  summaryOf,
  withSummaryOf,
} from '../../shared/domain/summary.ts';
import { deliveryRecord } from '../support/delivery-records.ts';
import { alarmEvent, EVENT_TIME_MS } from '../support/events.ts';

const alert = (incident: string, state: SummarizedAlert['state'], atMs: number): SummarizedAlert => ({
  incident,
  name: `name of ${incident}`,
  state,
  atMs,
  sortKey: `${atMs}`,
});

describe('a window', () => {
  it('starts at a multiple of its length, and its summary is due a minute after its end', () => {
    const window = accountWindow(Date.UTC(2026, 0, 1, 12, 7, 59, 999), 5);
    expect(window).toMatchObject({ startMs: Date.UTC(2026, 0, 1, 12, 5), endMs: Date.UTC(2026, 0, 1, 12, 10) });
    expect(accountWindow(window.endMs, 5).startMs).toBe(window.endMs);
    expect(summaryDueAtMs(window)).toBe(window.endMs + 60_000);
  });

  it('has one summary for each notification and length, and one above the daily limit', () => {
    const timeMs = Date.UTC(2026, 0, 1, 12);
    const windows = [accountWindow(timeMs, 5), accountWindow(timeMs, 60), limitWindow(timeMs)];
    expect(windows.map((window) => summaryId({ tenant: 'acme', notificationId: 'nt1' }, window))).toEqual([
      `acme:nt1-5m:${timeMs}:summary`,
      `acme:nt1-60m:${timeMs}:summary`,
      `acme:nt1-limit:${timeMs}:summary`,
    ]);
  });
});

describe('a summary', () => {
  it.each<[AlarmState[], number, number]>([
    [['CRITICAL'], 9, 1],
    [['CRITICAL', 'CRITICAL'], 8, 1],
    [['CRITICAL', 'CRITICAL', 'OK', 'OK', 'CRITICAL'], 8, 3],
    [['CRITICAL', 'OK', 'CRITICAL'], 9, 3],
  ])('has the newest state of an alarm, since when, and how often it changed: %s', (states, sinceMs, changes) => {
    const alerts = states.map((state, index) => alert('a', state, 9 - index));
    expect(summaryOf(alerts, 0)).toEqual({
      count: states.length,
      unevaluated: 0,
      alarmCounts: { CRITICAL: 1, WARNING: 0, OK: 0 },
      alarms: [{ name: 'name of a', state: 'CRITICAL', sinceMs, changes }],
    });
  });

  it('lists the most severe alarms first, of these the oldest, and counts what was not evaluated', () => {
    const alerts = [
      alert('ok', 'OK', 1),
      alert('w', 'WARNING', 2),
      alert('c2', 'CRITICAL', 4),
      alert('c1', 'CRITICAL', 3),
    ];
    const summary = summaryOf(alerts, 7);
    expect(summary.alarms.map(({ name }) => name.replace('name of ', ''))).toEqual(['c1', 'c2', 'w', 'ok']);
    expect(summary.count).toBe(11);
  });

  it('keeps only the alarms that a message lists, and counts the others', () => {
    const { alarms, alarmCounts } = summaryOf(
      Array.from({ length: 1_000 }, (_, index) => alert(String(index), index % 2 === 0 ? 'OK' : 'WARNING', index)),
      0,
    );
    expect(alarmCounts).toEqual({ CRITICAL: 0, WARNING: 500, OK: 500 });
    expect(alarms).toHaveLength(2 * MAX_LISTED_ALARMS);
  });

  it('gives its record the number of its alerts and the most severe of the newest states', () => {
    const record = deliveryRecord({ tenant: 'acme', notificationId: 'ntA' }, 'summary', { state: 'WARNING' });
    const recovered = [alert('a', 'OK', 2), alert('a', 'CRITICAL', 1)];
    expect(withSummaryOf(record, summaryOf(recovered, 0))).toEqual({ ...record, state: 'OK', summarized_count: 2 });
    const stateWith = (...others: SummarizedAlert[]) =>
      withSummaryOf(record, summaryOf([...recovered, ...others], 0)).state;
    expect(stateWith(alert('b', 'WARNING', 1))).toBe('WARNING');
    expect(stateWith(alert('b', 'WARNING', 1), alert('c', 'CRITICAL', 1))).toBe('CRITICAL');
    expect(withSummaryOf(record, summaryOf([], 3)).state).toBe('WARNING');
  });

  it('has the name, the state and the time of an alert', () => {
    const listed = summarizedAlert(alarmEvent(), EVENT_TIME_MS);
    expect(listed).toMatchObject({ name: 'web-1: Disk space', state: 'CRITICAL', atMs: EVENT_TIME_MS });
  });

  it('has the state that was accepted last of alerts with the same time', () => {
    for (const n of Array(20).keys()) {
      const sortKeyOf = (state: AlarmState, acceptedAtMs: number) =>
        summarizedAlert(alarmEvent({ event_id: `${n}:${EVENT_TIME_MS}:${state}` }), acceptedAtMs).sortKey;
      expect(sortKeyOf('OK', EVENT_TIME_MS + 2) > sortKeyOf('CRITICAL', EVENT_TIME_MS + 1)).toBe(true);
    }
  });

  it('has visible names that cannot rearrange the text around them', () => {
    const entity = { id: 'web-1', label: '\u200b' };
    const { name } = summarizedAlert(alarmEvent({ entity, alarm: { id: 'al', label: 'Disk\u202e' } }), 0);
    expect(name).toBe('web-1: Disk');
  });

  it.each([
    ['short', 'Disk space', `${'x'.repeat(105)}...: Disk space`],
    ['long', '😀'.repeat(9_999), `${'x'.repeat(55)}...: ${'😀'.repeat(57)}...`],
  ])('shortens names, and distinguishes the alarms of an entity: %s', (_, label, expected) => {
    const entity = { id: 'e', label: 'x'.repeat(10_000) };
    expect(summarizedAlert(alarmEvent({ entity, alarm: { id: 'al', label } }), 0).name).toBe(expected);
  });
});
