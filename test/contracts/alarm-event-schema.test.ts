import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { alarmEventJsonSchema } from '../../shared/contracts/alarm-event-schema.ts';
import { alarmEvent } from '../support/events.ts';

const published: unknown = JSON.parse(
  readFileSync(new URL('../../shared/contracts/alarm-event.schema.json', import.meta.url), 'utf8'),
);
const isValid = new Ajv2020({ strict: false }).compile(alarmEventJsonSchema());

describe('the JSON Schema of an alarm event', () => {
  it('matches the published file (npm run --silent event-schema > shared/contracts/alarm-event.schema.json)', () => {
    expect(published).toEqual(JSON.parse(JSON.stringify(alarmEventJsonSchema())));
  });

  it('has an ID and a version, and describes what it does not enforce', () => {
    const schema = alarmEventJsonSchema();
    expect(schema).toMatchObject({
      $id: `urn:monitoring-notifications:alarm-event:${schema.version}`,
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      description: expect.stringContaining('256 KiB'),
      properties: {
        details: { properties: { timestamp: { description: expect.stringContaining('milliseconds') } } },
        previous_state: { description: expect.stringContaining('255 characters') },
      },
      required: expect.arrayContaining(['notification_plan']),
    });
  });

  it('accepts an alarm event with a plan, whatever its previous state was', () => {
    const event = alarmEvent({ notification_plan: { critical_state: ['ntA'] } });
    expect(isValid(event)).toBe(true);
    expect(isValid({ ...event, previous_state: 'UNKNOWN' })).toBe(true);
    expect(isValid(alarmEvent())).toBe(false);
  });
});
