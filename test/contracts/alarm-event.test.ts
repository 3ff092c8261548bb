import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  brokenEventRules,
  isAlarmEvent,
  alarmEvent as schema,
  webhookPayload,
} from '../../shared/contracts/alarm-event.ts';
import { parseJson } from '../../shared/contracts/json.ts';
import { describeIssues } from '../../shared/contracts/text.ts';
import { alarmEvent } from '../support/events.ts';
import { forAll } from '../support/quick-run.ts';

const minimalEvent = {
  event_id: 'e',
  tenant_id: 't',
  details: { state: 'OK' },
  entity: { id: 'en' },
  alarm: { id: 'al' },
};

const issuesOf = (event: unknown): string | undefined => {
  const { error } = schema.safeParse(event);
  return error && describeIssues(error);
};

describe('the schema of an alarm event', () => {
  it('requires only an ID, a tenant, a state, an entity and an alarm', () => {
    expect(issuesOf(minimalEvent)).toBeUndefined();
    expect(issuesOf(alarmEvent())).toBeUndefined();
  });

  it.each([
    ['an id of 512 characters', { event_id: 'e'.repeat(512) }],
    ['an id of 512 characters outside the basic plane', { event_id: '😀'.repeat(512) }],
    ['a tenant of 128 characters', { tenant_id: 't'.repeat(128) }],
    ['a tenant with every punctuation character', { tenant_id: '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~' }],
    ['an unknown previous state', { previous_state: { unknown: 1 } }],
    ['a check that is a number', { check: 7 }],
    ['an alarm with fields of any type', { alarm: { id: 'al', label: 7, metadata: [], disabled: 'no' } }],
    ['unknown fields', { extra: { a: [null] } }],
  ])('accepts %s', (_, changes) => {
    expect(issuesOf({ ...minimalEvent, ...changes })).toBeUndefined();
  });

  it.each([
    ['no id', { event_id: undefined }, 'event_id: is required'],
    ['an empty id', { event_id: '' }, 'event_id: must not be empty'],
    ['an id of 513 characters', { event_id: 'e'.repeat(513) }, 'event_id: must be at most 512 characters'],
    ['a number as id', { event_id: 7 }, 'event_id: must be a string'],
    ['no tenant', { tenant_id: undefined }, 'tenant_id: is required'],
    ['an empty tenant', { tenant_id: '' }, 'tenant_id: must be 1 to 128 printable ASCII characters without spaces'],
    ['a tenant of 129 characters', { tenant_id: 't'.repeat(129) }, /^tenant_id: must be 1 to 128/],
    ['a tenant with a space', { tenant_id: 'a b' }, /^tenant_id: must be 1 to 128/],
    ['a tenant with a trailing line break', { tenant_id: 'acme\n' }, /^tenant_id: must be 1 to 128/],
    ['a tenant with characters outside ASCII', { tenant_id: 'täter' }, /^tenant_id: must be 1 to 128/],
    ['no details', { details: undefined }, 'details: is required'],
    ['details that are a list', { details: [] }, 'details: must be an object'],
    ['no state', { details: {} }, 'details.state: must be one of OK, WARNING, CRITICAL'],
    ['an unknown state', { details: { state: 'ok' } }, 'details.state: must be one of OK, WARNING, CRITICAL'],
    ['no entity', { entity: null }, 'entity: must be an object'],
    ['an entity without id', { entity: {} }, 'entity.id: is required'],
    ['an entity with an empty id', { entity: { id: '' } }, 'entity.id: must not be empty'],
    ['no alarm', { alarm: undefined }, 'alarm: is required'],
    ['an alarm with a number as id', { alarm: { id: 1 } }, 'alarm.id: must be a string'],
  ])('rejects %s', (_, changes, message) => {
    expect(issuesOf({ ...minimalEvent, ...changes })).toMatch(message);
  });

  it.each([null, [], 'text', 7, true])('rejects %o', (value) => {
    expect(isAlarmEvent(value)).toBe(false);
  });
});

describe('the rules that an invalid event breaks', () => {
  it('are named with their fields', () => {
    expect(brokenEventRules({ ...minimalEvent, event_id: 7, details: { state: 'ok' }, alarm: undefined })).toEqual([
      'event_id must be a string',
      'details.state must be one of OK, WARNING, CRITICAL',
      'alarm is required',
    ]);
    expect(brokenEventRules([])).toEqual(['the event must be a JSON object']);
    expect(brokenEventRules(minimalEvent)).toEqual([]);
  });

  it.each(['event', 'details', 'entity', 'alarm'])('name a number of any length that is no object: %s', (field) => {
    const number: unknown = parseJson('12345678901234567890');
    const broken = brokenEventRules(field === 'event' ? number : { ...minimalEvent, [field]: number });
    expect(broken).toEqual([field === 'event' ? 'the event must be a JSON object' : `${field} must be an object`]);
  });

  it('are complete sentences of the service for any JSON value, with no value of the event', () => {
    const rule =
      '(event_id|tenant_id|details|details\\.state|entity|entity\\.id|alarm|alarm\\.id|the event) ' +
      '(is required|must be (a string|an object|a JSON object|one of OK, WARNING, CRITICAL|at most 512 characters|1 to 128 printable ASCII characters without spaces)|must not be empty)';
    const rules = new RegExp(`^${rule}(; ${rule})*$`);
    const field = fc.option(fc.jsonValue(), { nil: undefined });
    const shape = fc.record({ event_id: field, tenant_id: field, details: field, entity: field, alarm: field });
    forAll()(fc.oneof(fc.jsonValue(), shape), (value) => {
      const broken = brokenEventRules(value).join('; ');
      expect(broken).toMatch(isAlarmEvent(value) ? /^$/ : rules);
    });
  });
});

describe('webhookPayload', () => {
  const fields = ['event_id', 'log_entry_id', 'details', 'entity', 'check', 'alarm', 'tenant_id'];

  it('has exactly the seven fields of the API contract', () => {
    const event = alarmEvent({ notification_plan: { critical_state: ['ntA'] }, extra: 1 });
    expect(Object.keys(webhookPayload(event))).toEqual(fields);
  });

  it('has null for fields that the event lacks', () => {
    const event = alarmEvent({ log_entry_id: undefined, check: undefined });
    expect(webhookPayload(event)).toMatchObject({ log_entry_id: null, check: null });
    expect(Object.keys(JSON.parse(JSON.stringify(webhookPayload(event))))).toEqual(fields);
  });

  it('preserves long numbers and keys such as __proto__', () => {
    const inside = '{"__proto__":{"a":1},"counter":18446744073709551615,"constructor":[1.10000000000000000001]}';
    const text = `{"event_id":"e","log_entry_id":"l","details":{"state":"OK","x":${inside}},"entity":{"id":"en","x":${inside}},"check":${inside},"alarm":{"id":"al","x":${inside}},"tenant_id":"t"}`;
    const event = parseJson(text);
    expect(isAlarmEvent(event) && JSON.stringify(webhookPayload(event))).toBe(text);
  });
});
