import { describe, expect, it } from 'vitest';
import { webhookPayload } from '../../shared/contracts/alarm-event.ts';
import {
  BrokenTemplateError,
  parseBodyTemplate,
  placeholderText,
  templateFields,
} from '../../shared/contracts/body-template.ts';
import { alarmEvent } from '../support/events.ts';

const pathsOf = (body: unknown) =>
  parseBodyTemplate(body).flatMap((part) => (typeof part === 'string' ? [] : [part.path]));
const errorOf = (body: unknown): BrokenTemplateError => {
  try {
    parseBodyTemplate(body);
  } catch (error) {
    if (error instanceof BrokenTemplateError) return error;
  }
  throw new Error('The template is accepted.');
};

describe('a placeholder', () => {
  it('names any field of the webhook payload, and the previous state', () => {
    expect(templateFields).toEqual([...Object.keys(webhookPayload(alarmEvent())), 'previous_state']);
  });

  it.each([
    ['{{alarm.label}}', ['alarm', 'label']],
    ['{{ alarm.label }}', ['alarm', 'label']],
    ['{{details.observations.0.state}}', ['details', 'observations', '0', 'state']],
    ['{{details.metrics["cpu.idle"].data}}', ['details', 'metrics', 'cpu.idle', 'data']],
    ['{{details["a}}\\"]b"]["\\u0041"]}}', ['details', 'a}}"]b', 'A']],
    ['{{entity.ip_addresses.access-ip0_v6}}', ['entity', 'ip_addresses', 'access-ip0_v6']],
    ['{{alert.color_number}}', ['alert', 'color_number']],
    ['{{details.__proto__.constructor}}', ['details', '__proto__', 'constructor']],
  ])('has a path of names and quoted keys, and can be written from it: %s', (text, path) => {
    expect(pathsOf(text)).toEqual([path]);
    expect(pathsOf(placeholderText({ path, isInText: false }))).toEqual([path]);
  });

  it.each([
    '{{',
    '{{ }}',
    '{{alarm}',
    '{{.alarm}}',
    '{{alarm..b}}',
    '{{alarm|b}}',
    '{{a["b}}',
    '{{a["\\x"]}}',
    '{{{a}}}',
  ])('is rejected if it is malformed: %s', (text) => {
    expect(errorOf(text).message).toMatch(/^has a malformed placeholder: /);
  });

  it.each(['{{foo}}', '{{Alarm.label}}', '{{notification_plan}}', '{{constructor}}', '{{__proto__}}', '{{0}}'])(
    'is rejected if its first name is unknown: %s',
    (text) => {
      expect(errorOf(text).message).toMatch(/^has an unknown placeholder: .* previous_state or alert/);
    },
  );

  it.each(['{{alert}}', '{{alert.foo}}', '{{alert.title.length}}', '{{alert.toString}}', '{{alert["__proto__"]}}'])(
    'is rejected if it names no value of an alert: %s',
    (text) => {
      expect(errorOf(text).message).toMatch(/^has an unknown placeholder: .* title, text, state/);
    },
  );
});

describe('a body template', () => {
  it('has literal braces after a backslash, and anywhere except after two opening ones', () => {
    const parts = parseBodyTemplate('\\{{alarm}} \\{{{{alarm.id}} }} { {');
    expect(parts).toEqual(['"', '{{', 'alarm}} ', '{{', { path: ['alarm', 'id'], isInText: true }, ' }} { {', '"']);
  });

  it('has no placeholders in keys', () => {
    expect(parseBodyTemplate({ '{{': '{{alarm.id}}' })).toEqual([
      '{',
      '"{{":',
      { path: ['alarm', 'id'], isInText: false },
      '}',
    ]);
  });

  it('is rejected with the path of its first error', () => {
    expect(errorOf({ a: ['x', { b: '{{' }], c: '{{' }).path).toEqual(['a', '1', 'b']);
    expect(errorOf('{{').path).toEqual([]);
  });

  it('may be nested 100 levels deep', () => {
    const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));
    expect(parseBodyTemplate(nested(100)).filter((part) => part === '[')).toHaveLength(100);
    for (const depth of [102, 8_000]) {
      expect(errorOf(nested(depth)).message).toBe('must not be nested deeper than 100 levels');
    }
  });
});
