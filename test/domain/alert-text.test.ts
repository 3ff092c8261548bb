import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AlarmEvent, isAlarmEvent } from '../../shared/contracts/alarm-event.ts';
import { parseJson } from '../../shared/contracts/json.ts';
import {
  factTexts,
  headline,
  minuteText,
  secondText,
  statusText,
  subjectLine,
  timesIn,
} from '../../shared/domain/alert-text.ts';
import { alarmEvent, alarmHeader, EVENT_TIME_MS, headerOf } from '../support/events.ts';
import { forAll } from '../support/quick-run.ts';

const withDetails = (details: object): AlarmEvent => alarmEvent({ details: { state: 'CRITICAL', ...details } });
const factsOf = (event: AlarmEvent): Record<string, string> => Object.fromEntries(factTexts(headerOf(event).facts));

describe('the headline of an alert', () => {
  it('contains state, entity and alarm', () => {
    expect(headline(alarmHeader())).toBe('[CRITICAL] web-1: Disk space');
  });

  it.each([undefined, null, '', '  ', '\u0000', '\r\n', {}, [], ['a']])(
    'contains IDs if the labels are %o',
    (label) => {
      const event = alarmEvent({ entity: { id: 'enA', label }, alarm: { id: 'alB', label } });
      expect(headline(headerOf(event))).toBe('[CRITICAL] enA: alB');
    },
  );

  it('is truncated to 200 code points', () => {
    const text = headline(alarmHeader({ entity: { id: 'e', label: '😀'.repeat(300) } }));
    expect([...text]).toHaveLength(200);
    expect(text).toMatch(/😀\.\.\.$/u);
    expect(text.isWellFormed()).toBe(true);
  });
});

describe('the facts of an alert', () => {
  it('list the most important first', () => {
    expect(factTexts(alarmHeader().facts)).toEqual([
      ['State', 'CRITICAL (was OK)'],
      ['Status', 'Disk is full'],
      ['Entity', 'web-1'],
      ['Alarm', 'Disk space'],
      ['Since', '2023-11-14 22:13:20 UTC'],
      ['Check', 'Disk usage'],
      ['Target', 'web-1.example.com'],
      ['duration', '153 milliseconds'],
      ['Event', alarmEvent().event_id],
    ]);
  });

  it('have a status with its line breaks, and all else on one line', () => {
    const status = 'Disk is full:\r\n  /var 100%\u2028\n\n\n\n/tmp\t99% \u0007\n';
    const details = { status, target: 'a\nb', metrics: { 'c\nd': { data: 'e\nf' } } };
    const event = { ...withDetails(details), event_id: 'g\nState: OK' };
    expect(statusText(event)).toBe('Disk is full:\n/var 100%\n\n/tmp 99%');
    expect(factsOf(event)).toMatchObject({
      Status: statusText(event),
      Target: 'a b',
      'c d': 'e f',
      Event: 'g State: OK',
    });
  });

  it('omit what the event lacks', () => {
    const event = alarmEvent({ event_id: 'e', details: { state: 'OK' }, check: null, previous_state: null });
    expect(headerOf(event).facts.map(([name]) => name)).toEqual(['State', 'Entity', 'Alarm', 'Event']);
  });

  it('show numbers that exceed the precision of a double unchanged', () => {
    const text = JSON.stringify(withDetails({ metrics: { bytes: { data: 0, unit: 'bytes' } }, target: 1 }))
      .replace('"data":0', '"data":18446744073709551615')
      .replace('"target":1', '"target":1.00000000000000000001');
    const event = parseJson(text);
    expect(isAlarmEvent(event) && factsOf(event)).toMatchObject({
      bytes: '18446744073709551615 bytes (16.0 EB)',
      Target: '1.00000000000000000001',
    });
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, EVENT_TIME_MS / 1_000, EVENT_TIME_MS + 60_001, '2026', null, {}])(
    'have the time in the event ID if the timestamp is %o',
    (timestamp) => {
      expect(factsOf(withDetails({ timestamp }))).toMatchObject({ Since: '2023-11-14 22:13:20 UTC' });
    },
  );

  it('contain at most 20 metrics', () => {
    const metrics = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`m${index}`, { data: index }]));
    expect(headerOf(withDetails({ metrics })).facts.filter(([name]) => /^m\d/.test(name))).toHaveLength(20);
  });

  it('are truncated', () => {
    const long = 'x'.repeat(800_000);
    const event = alarmEvent({
      details: { state: 'OK', status: long, target: long, metrics: { [long]: { data: long, unit: long } } },
      entity: { id: long },
      alarm: { id: long },
      check: { label: long },
    });
    for (const [name, value] of factTexts(headerOf(event).facts)) {
      expect(name.length).toBeLessThanOrEqual(1_000);
      expect(value.length).toBeLessThanOrEqual(1_000);
    }
  });
});

/** Arbitrary values for the fields that appear in texts. */
const hostile = fc.dictionary(
  fc.oneof(fc.constantFrom('label', 'status', 'target', 'timestamp', 'metrics', 'data', 'unit'), fc.string()),
  fc.oneof(
    fc.jsonValue({ stringUnit: 'binary' }),
    fc.double(),
    fc.constantFrom('\ud800', '\r\n', '\u202ea\u200b', '\u200b', '\u{e0041}', JSON.rawJSON('12345678901234567890')),
    fc.dictionary(fc.string(), fc.record({ data: fc.jsonValue(), unit: fc.jsonValue() }, { requiredKeys: [] })),
  ),
);
const id = fc.oneof(fc.string({ unit: 'binary', minLength: 1 }), fc.constantFrom(' ', '\n', '\u0000'));

const hostileEvent = fc
  .record({ details: hostile, entity: hostile, alarm: hostile, check: fc.jsonValue(), previous: fc.jsonValue(), id })
  .map(({ details, entity, alarm, check, previous, id }) =>
    alarmEvent({
      details: { ...details, state: 'WARNING' },
      entity: { ...entity, id },
      alarm: { ...alarm, id },
      check,
      previous_state: previous,
    }),
  );

it('the texts of an alert are single, well-formed lines for any event', () => {
  forAll(500)(hostileEvent, (event) => {
    expect(subjectLine(headerOf(event))).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|undefined|null|\[object/u);
    const lines = [headline(headerOf(event)), statusText(event) ?? '-', ...factTexts(headerOf(event).facts).flat()];
    for (const line of lines) {
      expect(line.isWellFormed()).toBe(true);
      expect(line).not.toMatch(/[\r\n\p{Cc}\u2028\u2029]/u);
    }
    expect(headline(headerOf(event))).not.toMatch(/undefined|null|\[object/);
  });
});

const WINTER_MS = Date.UTC(2026, 0, 31, 23, 24, 5);

describe('a time for people', () => {
  it.each([
    ['UTC', '2026-01-31 23:24:05 UTC'],
    ['Europe/Berlin', '2026-02-01 00:24:05 UTC+01:00'],
    ['America/New_York', '2026-01-31 18:24:05 UTC-05:00'],
    ['Asia/Kathmandu', '2026-02-01 05:09:05 UTC+05:45'],
    ['Europe/London', '2026-01-31 23:24:05 UTC'],
    ['Etc/GMT+5', '2026-01-31 18:24:05 UTC-05:00'],
  ])('has the date, the time and the offset of %s', (timeZone, text) => {
    expect(secondText(timesIn(timeZone)(WINTER_MS))).toBe(text);
  });

  it('distinguishes the hours before and after the clock is set back', () => {
    const timeOf = timesIn('Europe/Berlin');
    const times = [0, 1].map((hour) => minuteText(timeOf(Date.UTC(2026, 9, 25, hour, 30))));
    expect(times).toEqual(['2026-10-25 02:30 UTC+02:00', '2026-10-25 02:30 UTC+01:00']);
  });

  it('is in UTC if this version of Node.js no longer knows the time zone', () => {
    expect(secondText(timesIn('Europe/Atlantis')(WINTER_MS))).toBe('2026-01-31 23:24:05 UTC');
  });
});
