import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { alarmEventJsonSchema } from '../../shared/contracts/alarm-event-schema.ts';
import { parseJson } from '../../shared/contracts/json.ts';
import { noticeKinds } from '../../shared/contracts/notice.ts';
import { checkEvent, findingFields, readableIds } from '../../shared/domain/event-findings.ts';
import { alarmEvent, EVENT_TIME_MS } from '../support/events.ts';

const LISTS = 'critical_state, warning_state, ok_state';
const NOT_MS = 'must be a time in epoch milliseconds: a whole number of at least 1000000000000';
const plan = { id: 'np', ok_state: ['ntO'], warning_state: ['ntW'], critical_state: ['ntC'] };
const isValid = new Ajv2020({ strict: false }).compile(alarmEventJsonSchema());
const findings = (changes: object) =>
  checkEvent({ ...alarmEvent({ notification_plan: plan }), ...changes }, EVENT_TIME_MS);

describe('the findings of an event', () => {
  it('are none for a valid event', () => {
    expect(findings({})).toEqual({ errors: [], warnings: [] });
  });

  it.each([undefined, null, '', 'UNKNOWN'])('are none for the previous state %o', (previous_state) => {
    expect(findings({ previous_state })).toEqual({ errors: [], warnings: [] });
  });

  it.each(noticeKinds)('are an error for the ID of a notice, whose delivery the event would prevent: %s', (kind) => {
    const errors = ['event_id must not be that of a notice'];
    const accepts = (event_id: string) => isValid(alarmEvent({ notification_plan: plan, event_id }));
    for (const event_id of [`acme:nt1-5m:${EVENT_TIME_MS}:${kind}`, `:0:${kind}`]) {
      expect(findings({ event_id })).toMatchObject({ errors });
      expect(accepts(event_id)).toBe(false);
    }
    for (const event_id of [kind, `acme:${kind}:${EVENT_TIME_MS}:OK`, `acme:al:${kind}`]) {
      expect(findings({ event_id }).errors).toEqual([]);
      expect(accepts(event_id)).toBe(true);
    }
  });

  it.each([
    ['missing', undefined, 'notification_plan is required'],
    ['null', null, 'notification_plan must be an object'],
    ['a text', 'np', 'notification_plan must be an object'],
    ['a number', 7, 'notification_plan must be an object'],
    ['a long number', parseJson('12345678901234567890'), 'notification_plan must be an object'],
    ['a list', ['ntA'], 'notification_plan must be an object'],
    ['empty', {}, `notification_plan must have at least one of ${LISTS}`],
    [
      'without a list of a state',
      { id: 'np', critical: 'ntA' },
      `notification_plan must have at least one of ${LISTS}`,
    ],
    ['a prototype', parseJson('{"__proto__":{"ok_state":[]}}'), `notification_plan must have at least one of ${LISTS}`],
  ])('are an error for a plan that is %s', (_, notification_plan, rule) => {
    expect(findings({ notification_plan })).toEqual({ errors: [rule], warnings: [] });
  });

  it.each([
    ['a text', 'ntA'],
    ['an object', { 0: 'ntA' }],
    ['a list with a number', ['ntA', 1]],
    ['a list with a list', [['ntA']]],
  ])('are an error for a list of the state, and a warning for that of another state, that is %s', (_, list) => {
    const rule = (key: string) => [`notification_plan.${key} must be a list of notification IDs`];
    const own = { ...plan, critical_state: list };
    expect(findings({ notification_plan: own })).toEqual({ errors: rule('critical_state'), warnings: [] });
    const other = { ...plan, ok_state: list };
    expect(findings({ notification_plan: other })).toEqual({ errors: [], warnings: rule('ok_state') });
    expect(findings({ notification_plan: own, details: { state: 'OK' } })).toEqual({
      errors: [],
      warnings: rule('critical_state'),
    });
  });

  it.each([[], null])('are none for a list of the state that is %o', (list) => {
    expect(findings({ notification_plan: { critical_state: list } })).toEqual({ errors: [], warnings: [] });
  });

  it('are one warning for any number of lists with unknown keys, and none for other values with such keys', () => {
    expect(findings({ notification_plan: { ...plan, critical: ['ntA'], Warning_State: [] } })).toEqual({
      errors: [],
      warnings: [`notification_plan must have no lists other than ${LISTS}`],
    });
    expect(findings({ notification_plan: { ...plan, label: 'Ops', metadata: { tags: [] } } }).warnings).toEqual([]);
  });

  it('are all errors and all warnings together', () => {
    const event = { event_id: 'a:1:OK', details: { timestamp: 7 }, notification_plan: { critical: [] } };
    expect(checkEvent(event, EVENT_TIME_MS)).toEqual({
      errors: [
        'tenant_id is required',
        'details.state must be one of OK, WARNING, CRITICAL',
        'entity is required',
        'alarm is required',
        `notification_plan must have at least one of ${LISTS}`,
      ],
      warnings: [
        `details.timestamp ${NOT_MS}`,
        `the time in event_id ${NOT_MS}`,
        `notification_plan must have no lists other than ${LISTS}`,
      ],
    });
  });

  it('are ASCII texts that fit into the attributes of a dead letter, for any JSON value', () => {
    const field = fc.option(fc.jsonValue(), { nil: undefined });
    const shape = fc.record({
      event_id: field,
      tenant_id: field,
      details: field,
      entity: field,
      alarm: field,
      notification_plan: field,
    });
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), shape), (value) => {
        const { detail = '', warnings = '' } = findingFields(checkEvent(value, EVENT_TIME_MS));
        expect(detail + warnings).toMatch(/^[ -~]*$/);
        expect((detail + warnings).length).toBeLessThanOrEqual(900);
      }),
    );
  });
});

describe('the readable IDs of a value', () => {
  it('are those that an alarm event may have', () => {
    expect(readableIds({ tenant_id: 'acme', event_id: 'e' })).toEqual({ tenant_id: 'acme', event_id: 'e' });
    expect(readableIds({ tenant_id: 'a b', event_id: 7 })).toEqual({ tenant_id: undefined, event_id: undefined });
    expect(readableIds([])).toEqual({});
  });
});
