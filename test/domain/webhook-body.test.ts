import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { alarmStates } from '../../shared/contracts/alarm-event.ts';
import { alertNames, templateFields } from '../../shared/contracts/body-template.ts';
import { parseJson } from '../../shared/contracts/json.ts';
import { incidentKey } from '../../shared/domain/incident.ts';
import { alertValues, placeholdersWithoutValue, webhookBody } from '../../shared/domain/webhook-body.ts';
import { alarmEvent, alarmHeader, alertContent, EVENT_TIME_MS } from '../support/events.ts';
import { forAll } from '../support/quick-run.ts';

type Changes = Parameters<typeof alarmEvent>[0];

const alertOf = (changes: Changes = {}) => ({ ...alertContent(alarmEvent(changes)), eventTimeMs: EVENT_TIME_MS });
const render = (template: unknown, details: Record<string, unknown> = {}) =>
  webhookBody(template, alertOf({ details: { state: 'CRITICAL', ...details } }));

describe('a text that is one placeholder', () => {
  it.each([
    ['a text', '"a\\"b"'],
    ['a number with 20 digits', '12345678901234567890'],
    ['a number with a fraction of zero', '1.0'],
    ['a boolean', 'false'],
    ['an object with the key __proto__', '{"__proto__":{"a":1e400}}'],
    ['a list', '[1,null]'],
    ['null', 'null'],
    ['a lone surrogate', '"\\ud800"'],
  ])('becomes the value it names: %s', (_, json) => {
    const value = parseJson(json);
    expect(render({ v: '{{details.value}}' }, { value })).toBe(`{"v":${json}}`);
    expect(render('{{details.value}}', { value })).toBe(json);
  });

  it.each([
    ...['details.missing.deeper', 'details.constructor', 'details.__proto__', 'details.text.length', 'details.text.0'],
    ...['details.list.length', 'details.list.3', 'details.number.rawJSON', 'previous_state.constructor', 'check'],
  ])('is null if only a prototype or nothing has %s', (path) => {
    const details = { text: 'abc', list: [1, 2, 3], number: parseJson('12345678901234567890') };
    const alert = alertOf({ details: { state: 'OK', ...details }, check: undefined });
    expect(webhookBody([`{{${path}}}`], alert)).toBe('[null]');
  });
});

it('a placeholder names entries of lists, and any key of an object', () => {
  const details = { list: [1, { 'a.b': 2 }], ...JSON.parse('{"__proto__":{"\\"":3}}') };
  const template = ['{{details.list.0}}', '{{details.list.1["a.b"]}}', '{{details.__proto__["\\""]}}'];
  expect(render(template, details)).toBe('[1,2,3]');
});

it('a large value is serialized only as often as it fits into a body', () => {
  const stringify = vi.spyOn(JSON, 'stringify');
  onTestFinished(() => stringify.mockRestore());
  const alert = alertOf({ details: { state: 'OK', value: 'x'.repeat(100_000) } });
  stringify.mockClear();
  expect(webhookBody(Array(1_000).fill('{{details}}'), alert)).toBeUndefined();
  expect(stringify.mock.calls.filter(([value]) => Object.hasOwn(value, 'value')).length).toBeLessThan(5);
});

describe('a placeholder within a text', () => {
  it.each([
    ['"x\\ny"', 'a x\ny'],
    ['12345678901234567890', 'a 12345678901234567890'],
    ['1.0', 'a 1.0'],
    ['true', 'a true'],
    ['null', 'a '],
    ['{"b":[1.0,"\\""]}', 'a {"b":[1.0,"\\""]}'],
  ])('becomes text, JSON for objects and lists, and nothing for null: %s', (json, text) => {
    expect(JSON.parse(render('a {{details.value}}', { value: parseJson(json) }) ?? '')).toBe(text);
  });

  it('is nothing if its value is missing, and is not evaluated again', () => {
    expect(render('[{{details.missing}}]')).toBe('"[]"');
    expect(render('{{details.value}} {{alert.state}}', { value: '{{alert.state}}' })).toBe(
      '"{{alert.state}} CRITICAL"',
    );
  });
});

it('placeholders without a value are those of missing values and null, each once', () => {
  const template = {
    found: '{{alarm.label}} {{details.zero}} {{details.empty}}',
    missing: ['{{ previous_state }}', 'a {{details.metrics["cpu.idle"].data}}{{details.none}}', '{{details.none}}'],
    '{{details.other}}': '\\{{details.other}}',
  };
  const details = { state: 'OK' as const, zero: 0, empty: '', none: null };
  expect(placeholdersWithoutValue(template, alertOf({ details, previous_state: undefined }))).toEqual([
    '{{previous_state}}',
    '{{details.metrics["cpu.idle"].data}}',
    '{{details.none}}',
  ]);
});

const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('"', '\\', '\r\n', '{{', '}}', '\\{{', '\ud800', '\udc00', '</script>', '\u2028', '{{alarm.label}}'),
);
const values = fc.oneof(texts, fc.jsonValue({ stringUnit: 'binary' }));
const placeholders = fc.constantFrom(
  ...[
    ...templateFields,
    'details.value',
    'details.value.0',
    'entity.label',
    ...alertNames.map((name) => `alert.${name}`),
  ].map((path) => `{{${path}}}`),
);
/** Any text as a literal of a template. */
const literals = texts.map((text) => text.replaceAll('{{', '\\{{').replace(/\{$/, ''));
const templateTexts = fc.array(fc.oneof(placeholders, literals), { maxLength: 5 }).map((parts) => parts.join(' '));
/** Node.js 24 confuses keys such as `"` and `\\` when it parses JSON, so these are not arbitrary. */
const keys = fc.constantFrom('a', '0', '__proto__', 'constructor', '{{alarm.label}}', '{{', 'a "quote"\n', 'ü');
const { template: templates } = fc.letrec((tie) => ({
  template: fc.oneof(
    { depthSize: 'small' },
    templateTexts,
    fc.constantFrom(null, true, 1.5),
    fc.array(tie('template'), { maxLength: 4 }),
    fc.dictionary(keys, tie('template'), { maxKeys: 4 }),
  ),
}));

describe('any body', () => {
  it('is valid JSON with the structure and keys of its template, whatever the event contains', () => {
    const shapeOf = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(shapeOf);
      if (typeof value !== 'object' || value === null) return 0;
      return Object.entries(value).map(([key, entry]) => [key, shapeOf(entry)]);
    };
    /** A body in which no text is only a placeholder has the shape of its template. */
    const inTexts = (template: unknown): unknown => {
      if (typeof template === 'string') return `-${template}`;
      if (Array.isArray(template)) return template.map(inTexts);
      if (typeof template !== 'object' || template === null) return template;
      return Object.fromEntries(Object.entries(template).map(([key, entry]) => [key, inTexts(entry)]));
    };
    forAll(300)(templates, values, texts, (template, value, label) => {
      const alert = alertOf({ details: { state: 'WARNING', value }, entity: { id: 'en', label } });
      expect(() => JSON.parse(webhookBody(template, alert) ?? '')).not.toThrow();
      const body: unknown = JSON.parse(webhookBody(inTexts(template), alert) ?? '');
      expect(shapeOf(body)).toEqual(shapeOf(inTexts(template)));
    });
  });

  it('is its template if that has no placeholders', () => {
    forAll()(fc.jsonValue(), (value) => {
      const json = JSON.stringify(value).replaceAll('{{', '{ {');
      expect(render(parseJson(json))).toBe(JSON.stringify(parseJson(json)));
    });
  });

  it('has at most 256 KB', () => {
    const frame = '"-"'.length;
    expect(render('-{{details.value}}', { value: 'v'.repeat(256 * 1024 - frame) })).toHaveLength(256 * 1024);
    expect(render('-{{details.value}}', { value: 'v'.repeat(256 * 1024 - frame + 1) })).toBeUndefined();
    expect(render('-{{details.value}}', { value: 'ä'.repeat(128 * 1024) })).toBeUndefined();
  });

  it('takes bounded time for thousands of placeholders with large values', () => {
    const value = { list: Array.from({ length: 20_000 }, (_, index) => ({ [`key${index}`]: 'v'.repeat(20) })) };
    expect(render('{{details}}'.repeat(1_400), { value })).toBeUndefined();
    const label = 'l'.repeat(800_000);
    const alert = alertOf({ entity: { id: 'en', label }, details: { state: 'OK', value } });
    expect(webhookBody('{{alert.title}}'.repeat(1_000), alert)?.length).toBe(150_002);
    expect(JSON.parse(render('{{alert.state}}{{details.x}}'.repeat(10_000)) ?? '')).toBe('CRITICAL'.repeat(10_000));
  });
});

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
    for (const name of ['color', 'emoji'] as const)
      expect(new Set(alarmStates.map((state) => valuesOf({ details: { state } })[name])).size).toBe(3);
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

  it('have the text of a notice', () => {
    const notice = { kind: 'unreached' as const, subject: 'Nobody', paragraphs: ['Check.'], facts: [] };
    const event = { ...alarmHeader(), facts: [] };
    expect(alertValues({ event, notice, eventTimeMs: NOW_MS }).text).toBe('Nobody\n\nCheck.');
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
