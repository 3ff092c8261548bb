import { describe, expect, it } from 'vitest';
import { alarmStates } from '../../shared/contracts/alarm-event.ts';
import { alertNames } from '../../shared/contracts/body-template.ts';
import { alertValues } from '../../shared/domain/alert-values.ts';
import { incidentKey } from '../../shared/domain/incident.ts';
import { alarmEvent, alarmHeader } from '../support/events.ts';

const NOW_MS = Date.UTC(2026, 10, 22, 0, 21, 51, 999);
const valuesOf = (changes: Parameters<typeof alarmEvent>[0] = {}) =>
  alertValues({ event: alarmHeader(changes), eventTimeMs: NOW_MS });

describe('the values of an alert', () => {
  it('are those that placeholders can name', () => {
    expect(Object.keys(valuesOf()).toSorted()).toEqual(alertNames.toSorted());
  });

  it.each([
    ['OK', 'resolved', 'good'],
    ['WARNING', 'firing', 'warning'],
    ['CRITICAL', 'firing', 'attention'],
  ] as const)('show the state %s', (state, status, style) => {
    const values = valuesOf({ details: { state } });
    expect(values).toMatchObject({ state, status, style });
    expect(values.color).toBe(`#${Number(values.color_number).toString(16).padStart(6, '0')}`);
    if (state === 'CRITICAL') expect(values.color).toBe('#d32f2f');
  });

  it('have another color and emoji for each state', () => {
    for (const name of ['color', 'emoji'] as const) {
      expect(new Set(alarmStates.map((state) => valuesOf({ details: { state } })[name])).size).toBe(3);
    }
  });

  it('have the time of the event in seconds, and the key of the incident', () => {
    expect(valuesOf()).toMatchObject({ time: '2026-11-22T00:21:51Z', incident_key: incidentKey(alarmEvent()) });
  });

  it('have the title in one line and the facts in several', () => {
    const values = valuesOf({
      entity: { id: 'en', label: 'web\r\n1' },
      alarm: { id: 'al', label: 'Disk' },
      details: { state: 'CRITICAL', status: 'full' },
    });
    expect(values.title).toBe('[CRITICAL] web 1: Disk');
    expect(String(values.text).split('\n')).toEqual(expect.arrayContaining(['Status: full', 'Entity: web 1']));
  });

  it('have at most 150 and 1,900 UTF-16 units, without half characters', () => {
    for (const label of ['l'.repeat(5_000), '😀'.repeat(5_000), `x${'😀'.repeat(5_000)}`, '\ud800'.repeat(5_000)]) {
      const metrics = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`m${index}`, { data: label }]));
      const { title, text } = valuesOf({ entity: { id: 'en', label }, details: { state: 'OK', metrics } });
      for (const [value, max] of [
        [String(title), 150],
        [String(text), 1_900],
      ] as const) {
        expect(value.length).toBeLessThanOrEqual(max);
        expect(value.length).toBeGreaterThan(max - 3);
        expect(value.isWellFormed()).toBe(true);
        expect(value.endsWith('...')).toBe(true);
      }
    }
  });
});
