import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { isAlarmEvent } from '../../shared/contracts/alarm-event.ts';
import { alarmEventJsonSchema } from '../../shared/contracts/alarm-event-schema.ts';
import { testEvent } from '../../shared/domain/test-event.ts';
import { alarmEvent } from '../support/events.ts';

const published: unknown = JSON.parse(
  readFileSync(new URL('../../shared/contracts/alarm-event.schema.json', import.meta.url), 'utf8'),
);
const isValid = new Ajv2020({ strict: false }).compile(alarmEventJsonSchema());

describe('the JSON Schema of an alarm event', () => {
  it('matches the published file (npm run --silent event-schema > shared/contracts/alarm-event.schema.json)', () => {
    expect(published).toEqual(JSON.parse(JSON.stringify(alarmEventJsonSchema())));
  });

  it('accepts alarm events and the event of a test message', () => {
    expect(isValid(alarmEvent())).toBe(true);
    expect(isValid(testEvent('acme', Date.UTC(2026, 0, 1)))).toBe(true);
  });

  it.each([
    ['event_id', ''],
    ['event_id', 'x'.repeat(513)],
    ['tenant_id', 'has space'],
    ['details', {}],
    ['details', { state: 'UNKNOWN' }],
    ['entity', { id: 7 }],
    ['alarm', null],
  ])('rejects %s %o, like dispatch', (field, value) => {
    const event = { ...alarmEvent(), [field]: value };
    expect(isValid(event)).toBe(false);
    expect(isAlarmEvent(event)).toBe(false);
  });
});
