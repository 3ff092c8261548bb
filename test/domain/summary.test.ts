import { describe, expect, it } from 'vitest';
import type { AlarmState } from '../../shared/contracts/alarm-event.ts';
import {
  accountWindow,
  alarmCount,
  limitWindow,
  MAX_LISTED_ALARMS,
  type SummarizedAlarm,
  summarizedAlarm,
  summaryDueAtMs,
  summaryId,
  summaryOf,
  withSummaryOf,
} from '../../shared/domain/summary.ts';
import { deliveryRecord } from '../support/delivery-records.ts';
import { alarmHeader, EVENT_TIME_MS } from '../support/events.ts';

const alarm = (incident: string, state: SummarizedAlarm['state'], atMs: number): SummarizedAlarm => ({
  incident,
  name: `name of ${incident}`,
  state,
  status: '',
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

  it('lasts an hour near the daily limit', () => {
    const timeMs = Date.UTC(2026, 0, 1, 12, 7);
    expect(accountWindow(timeMs, 5, true)).toMatchObject({
      startMs: Date.UTC(2026, 0, 1, 12),
      endMs: Date.UTC(2026, 0, 1, 13),
    });
  });

  it('has one summary for each notification and length, which above the daily limit is that of the hour', () => {
    const timeMs = Date.UTC(2026, 0, 1, 12);
    const windows = [accountWindow(timeMs, 5), accountWindow(timeMs, 60), limitWindow(timeMs)];
    expect(windows.map((window) => summaryId({ tenant: 'acme', id: 'nt1' }, window))).toEqual([
      `acme:nt1-5m:${timeMs}:summary`,
      `acme:nt1-60m:${timeMs}:summary`,
      `acme:nt1-60m:${timeMs}:summary`,
    ]);
  });
});

describe('a summary', () => {
  it('lists the most severe alarms first, of these the oldest, and counts what was not read', () => {
    const alarms = [
      alarm('ok', 'OK', 1),
      alarm('w', 'WARNING', 2),
      alarm('c2', 'CRITICAL', 4),
      alarm('c1', 'CRITICAL', 3),
    ];
    const summary = summaryOf(alarms, 7);
    expect(summary.alarms.map(({ name }) => name.replace('name of ', ''))).toEqual(['c1', 'c2', 'w', 'ok']);
    expect(alarmCount(summary)).toBe(11);
  });

  it('keeps only the alarms that a message lists, and counts the others', () => {
    const { alarms, alarmCounts } = summaryOf(
      Array.from({ length: 2_000 }, (_, index) => alarm(String(index), index % 2 === 0 ? 'OK' : 'WARNING', index)),
      0,
    );
    expect(alarmCounts).toEqual({ CRITICAL: 0, WARNING: 1_000, OK: 1_000 });
    expect(alarms.map(({ state }) => state)).toEqual(Array(MAX_LISTED_ALARMS).fill('WARNING'));
  });

  it('gives its record the number of its alarms, the most severe of their states and the names of three', () => {
    const record = deliveryRecord({ tenant: 'acme', id: 'ntA' }, 'summary', { state: 'WARNING' });
    const ok = alarm('a', 'OK', 2);
    expect(withSummaryOf(record, summaryOf([ok], 0))).toEqual({
      ...record,
      state: 'OK',
      alarm_count: 1,
      alarm_names: ['name of a'],
    });
    const five = [ok, ...['b', 'c', 'd', 'e'].map((name) => alarm(name, 'CRITICAL', 1))];
    expect(withSummaryOf(record, summaryOf(five, 0)).alarm_names).toEqual(['name of b', 'name of c', 'name of d']);
    const stateWith = (...others: SummarizedAlarm[]) => withSummaryOf(record, summaryOf([ok, ...others], 0)).state;
    expect(stateWith(alarm('b', 'WARNING', 1))).toBe('WARNING');
    expect(stateWith(alarm('b', 'WARNING', 1), alarm('c', 'CRITICAL', 1))).toBe('CRITICAL');
  });

  it('has the name, the state, the status text and the time of an alert', () => {
    const listed = summarizedAlarm(alarmHeader(), EVENT_TIME_MS);
    expect(listed).toMatchObject({ name: 'web-1: Disk space', state: 'CRITICAL', atMs: EVENT_TIME_MS });
    const { status } = summarizedAlarm(alarmHeader({ details: { state: 'OK', status: `a\n${'b'.repeat(999)}` } }), 0);
    expect(status).toBe(`a ${'b'.repeat(115)}...`);
  });

  it('has the state that was accepted last of alerts with the same time', () => {
    for (const n of Array(20).keys()) {
      const sortKeyOf = (state: AlarmState, acceptedAtMs: number) =>
        summarizedAlarm(alarmHeader({ event_id: `${n}:${EVENT_TIME_MS}:${state}` }), acceptedAtMs).sortKey;
      expect(sortKeyOf('OK', EVENT_TIME_MS + 2) > sortKeyOf('CRITICAL', EVENT_TIME_MS + 1)).toBe(true);
    }
  });

  it('has visible names that cannot rearrange the text around them', () => {
    const entity = { id: 'web-1', label: '\u200b' };
    const { name } = summarizedAlarm(alarmHeader({ entity, alarm: { id: 'al', label: 'Disk\u202e' } }), 0);
    expect(name).toBe('web-1: Disk');
  });

  it.each([
    ['short', 'Disk space', `${'x'.repeat(105)}...: Disk space`],
    ['long', '😀'.repeat(9_999), `${'x'.repeat(55)}...: ${'😀'.repeat(57)}...`],
  ])('shortens names, and distinguishes the alarms of an entity: %s', (_, label, expected) => {
    const entity = { id: 'e', label: 'x'.repeat(10_000) };
    expect(summarizedAlarm(alarmHeader({ entity, alarm: { id: 'al', label } }), 0).name).toBe(expected);
  });
});
