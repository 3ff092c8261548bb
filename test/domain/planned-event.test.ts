import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { alarmEventJsonSchema } from '../../shared/contracts/alarm-event-schema.ts';
import { parseJson } from '../../shared/contracts/json.ts';
import { noticeKinds } from '../../shared/contracts/notice.ts';
import type { Trace } from '../../shared/contracts/trace.ts';
import { parseDelivery } from '../../shared/domain/delivery-message.ts';
import { deliveryBody } from '../../shared/domain/new-delivery-message.ts';
import {
  checkEvent,
  findingFields,
  isInvalidEvent,
  type PlannedEvent,
  planEvent,
  readableIds,
} from '../../shared/domain/planned-event.ts';
import { alarmEvent, EVENT_TIME_MS, TRACE_ID, traceFields } from '../support/events.ts';
import { forAll } from '../support/quick-run.ts';

const ACCEPTED_AT_MS = EVENT_TIME_MS + 1_000;
const ids = Array.from({ length: 26 }, (_, index) => `nt${index}`);
const body = (changes = {}) => JSON.stringify(alarmEvent({ notification_plan: { critical_state: ids }, ...changes }));
const planned = (text: string): PlannedEvent => {
  const plan = planEvent(text, ACCEPTED_AT_MS);
  if (isInvalidEvent(plan)) throw new Error(plan.errors.join());
  return plan;
};

const plannedWith = (fields: object, trace?: Trace) =>
  planEvent(body(fields), ACCEPTED_AT_MS, { correlation: { producer_message_id: 'm1', trace } });
const messageWith = (fields: object, trace?: Trace) => {
  const plan = plannedWith(fields, trace);
  if (isInvalidEvent(plan)) throw new Error(plan.errors.join());
  return parseDelivery(deliveryBody({ id: 'nt' }, plan.shared));
};

describe('the trace of a planned event', () => {
  const trace = { id: TRACE_ID, headers: traceFields };
  const ofAttributes = { id: '1'.repeat(32), headers: { traceparent: `00-${'1'.repeat(32)}-${'1'.repeat(16)}-00` } };

  it('is that of the event, or else that of the message attributes', () => {
    expect(messageWith(traceFields)).toMatchObject({ trace, producer_message_id: 'm1' });
    expect(messageWith(traceFields, ofAttributes)).toMatchObject({ trace });
    expect(messageWith({}, ofAttributes)).toMatchObject({ trace: ofAttributes });
    // `tracestate` belongs to the `traceparent` beside it.
    expect(messageWith({ ...traceFields, traceparent: 'invalid' }, ofAttributes)?.trace).toEqual(ofAttributes);
    expect(messageWith({})).not.toHaveProperty('trace');
  });

  it('is neither in the event of the message nor in its digest', () => {
    const { trace: _, ...message } = messageWith(traceFields) ?? {};
    expect(message).toEqual(messageWith({}));
  });

  it('is known if the event is invalid', () => {
    expect(plannedWith({ ...traceFields, alarm: null })).toMatchObject({ ids: { trace_id: TRACE_ID } });
    expect(plannedWith({ alarm: null }, ofAttributes)).toMatchObject({ ids: { trace_id: ofAttributes.id } });
  });
});

describe('a planned event', () => {
  it.each([
    ['not JSON', '{', 'the event must be JSON'],
    ['an event with an unknown state', body({ details: { state: 'ok' } }), /^details\.state must be one of OK, /],
  ])('is malformed because of its producer if the message is %s', (_, text, detail) => {
    const invalid = { reason: 'malformed', cause: 'producer', errors: [expect.stringMatching(detail)], warnings: [] };
    expect(planEvent(text, ACCEPTED_AT_MS)).toMatchObject(invalid);
  });

  it('is malformed, with its IDs and warnings, if it is nested too deep to serialize', () => {
    const text = body({ check: 0, details: { state: 'CRITICAL', timestamp: 0 } });
    const deep = text.replace('"check":0', `"check":${'['.repeat(20_000)}${']'.repeat(20_000)}`);
    expect(planEvent(deep, ACCEPTED_AT_MS)).toMatchObject({
      reason: 'malformed',
      cause: 'producer',
      errors: ['the event is nested too deeply'],
      warnings: [expect.stringMatching(/^details\.timestamp must be/)],
      ids: { tenant_id: 'acme', event_id: alarmEvent().event_id },
    });
  });

  it('is too large above 256 KiB, and then is not parsed', () => {
    const pad = 256 * 1024 - Buffer.byteLength(body({ check: '' }));
    expect(planEvent(body({ check: 'x'.repeat(pad) }), ACCEPTED_AT_MS)).toMatchObject({
      ids,
      acceptedAtMs: ACCEPTED_AT_MS,
    });
    const parse = vi.spyOn(JSON, 'parse');
    expect(planEvent(body({ check: 'x'.repeat(pad + 1) }), ACCEPTED_AT_MS)).toEqual({
      reason: 'too_large',
      cause: 'producer',
      errors: ['the event must be at most 256 KiB'],
      warnings: [],
      ids: {},
    });
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
  });

  it('has at most 1,024 different notifications for its own state', () => {
    const listed = (count: number) => Array.from({ length: count }, (_, index) => `nt${index}`);
    const withPlan = (plan: object) => planEvent(body({ notification_plan: plan }), ACCEPTED_AT_MS);
    const most = listed(1_024);
    expect(withPlan({ critical_state: [...most, ...most], ok_state: listed(1_025) })).toMatchObject({ ids: most });
    expect(withPlan({ critical_state: listed(1_025) })).toEqual({
      reason: 'too_many_notifications',
      cause: 'producer',
      errors: ['notification_plan must list at most 1024 notifications for the state of the event'],
      warnings: [],
      ids: { tenant_id: 'acme', event_id: alarmEvent().event_id },
    });
  });

  it('is too large if its size times its notifications exceeds 64 MiB', () => {
    const most = Array.from({ length: 512 }, (_, index) => `nt${index}`);
    const text = (pad: number) => body({ notification_plan: { critical_state: most }, check: 'x'.repeat(pad) });
    const pad = 128 * 1024 - Buffer.byteLength(text(0));
    expect(planEvent(text(pad), ACCEPTED_AT_MS)).toMatchObject({ ids: most });
    expect(planEvent(text(pad + 1), ACCEPTED_AT_MS)).toMatchObject({
      reason: 'too_large',
      cause: 'producer',
      errors: ['the size of the event times the number of its notifications must be at most 64 MiB'],
    });
  });

  it.each([7, {}, 'x'.repeat(256)])('has a warning if its previous state is %o, which counts as absent', (previous) => {
    expect(planned(body({ previous_state: previous }))).toMatchObject({
      ids,
      warnings: ['previous_state must be text of at most 255 characters'],
    });
  });
});

const LISTS = 'critical_state, warning_state, ok_state';
const NOT_MS = 'must be a time in epoch milliseconds: a whole number of at least 1000000000000';
const plan = { id: 'np', ok_state: ['ntO'], warning_state: ['ntW'], critical_state: ['ntC'] };
const isValid = new Ajv2020({ strict: false }).compile(alarmEventJsonSchema());
const findings = (changes: object) =>
  checkEvent({ ...alarmEvent({ notification_plan: plan }), ...changes }, EVENT_TIME_MS);

describe('the findings of an event', () => {
  it.each([undefined, null, '', 'OK', 'UNKNOWN', 'x'.repeat(255)])(
    'are none for the previous state %o',
    (previous_state) => {
      expect(findings({ previous_state })).toEqual({ errors: [], warnings: [] });
    },
  );

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
    forAll()(fc.oneof(fc.jsonValue(), shape), (value) => {
      const { detail = '', warnings = '' } = findingFields(checkEvent(value, EVENT_TIME_MS));
      expect(detail + warnings).toMatch(/^[ -~]*$/);
      expect((detail + warnings).length).toBeLessThanOrEqual(900);
    });
  });
});

it('the readable IDs of a value are those that an alarm event may have', () => {
  expect(readableIds({ tenant_id: 'acme', event_id: 'e' })).toEqual({ tenant_id: 'acme', event_id: 'e' });
  expect(readableIds({ tenant_id: 'a b', event_id: 7 })).toEqual({ tenant_id: undefined, event_id: undefined });
  expect(readableIds([])).toEqual({});
});
