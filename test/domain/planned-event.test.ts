import { describe, expect, it } from 'vitest';
import { delivery } from '../../shared/contracts/messages.ts';
import type { Trace } from '../../shared/contracts/trace.ts';
import { deliveryBody } from '../../shared/domain/delivery-message.ts';
import { continuationBody, isInvalidEvent, type PlannedEvent, planEvent } from '../../shared/domain/planned-event.ts';
import { alarmEvent, EVENT_TIME_MS, TRACE_ID, traceFields } from '../support/events.ts';

const ACCEPTED_AT_MS = EVENT_TIME_MS + 1_000;
const ids = Array.from({ length: 26 }, (_, index) => `nt${index}`);
const body = (changes = {}) => JSON.stringify(alarmEvent({ notification_plan: { critical_state: ids }, ...changes }));
const planned = (text: string): PlannedEvent => {
  const plan = planEvent(text, ACCEPTED_AT_MS);
  if (isInvalidEvent(plan)) throw new Error(plan.errors.join());
  return plan;
};

const plannedWith = (fields: object, trace?: Trace) =>
  planEvent(body(fields), ACCEPTED_AT_MS, { origin: { producer_message_id: 'm1', trace } });
const messageWith = (fields: object, trace?: Trace) => {
  const plan = plannedWith(fields, trace);
  if (isInvalidEvent(plan)) throw new Error(plan.errors.join());
  return delivery.parse(JSON.parse(deliveryBody('nt', plan.shared)));
};

describe('the trace of a planned event', () => {
  const trace = { id: TRACE_ID, headers: traceFields };
  const ofAttributes = { id: '1'.repeat(32), headers: { traceparent: `00-${'1'.repeat(32)}-${'1'.repeat(16)}-00` } };

  it('is that of the event, or else that of the message attributes', () => {
    expect(messageWith(traceFields)).toMatchObject({ trace, producer_message_id: 'm1' });
    expect(messageWith(traceFields, ofAttributes)).toMatchObject({ trace });
    expect(messageWith({}, ofAttributes)).toMatchObject({ trace: ofAttributes });
    // `tracestate` belongs to the `traceparent` beside it.
    expect(messageWith({ ...traceFields, traceparent: 'invalid' }, ofAttributes).trace).toEqual(ofAttributes);
    expect(messageWith({})).not.toHaveProperty('trace');
  });

  it('is neither in the event of the message nor in its digest', () => {
    const { trace: _, ...message } = messageWith(traceFields);
    expect(message).toEqual(messageWith({}));
  });

  it('is known if the event is invalid', () => {
    expect(plannedWith({ ...traceFields, alarm: null })).toMatchObject({ ids: { trace_id: TRACE_ID } });
    expect(plannedWith({ alarm: null }, ofAttributes)).toMatchObject({ ids: { trace_id: ofAttributes.id } });
  });

  it('and the message of the producer stay with a continuation', () => {
    const plan = plannedWith(traceFields);
    if (isInvalidEvent(plan)) throw new Error(plan.errors.join());
    const text = continuationBody(plan, ids, undefined, true);
    const continued = planEvent(text, ACCEPTED_AT_MS, { origin: { producer_message_id: 'm2' } });
    expect(continued).toMatchObject({ origin: { producer_message_id: 'm1', trace } });
    expect(isInvalidEvent(planEvent(text.replace('vendor=', 'vendor=\\n'), ACCEPTED_AT_MS))).toBe(true);
  });
});

describe('a planned event', () => {
  it('has its notifications and when SQS accepted it', () => {
    expect(planned(body())).toMatchObject({
      ids,
      isContinuation: false,
      acceptedAtMs: ACCEPTED_AT_MS,
    });
  });

  it.each([
    ['not JSON', '{', 'the event must be JSON'],
    ['an event with an unknown state', body({ details: { state: 'ok' } }), /^details\.state must be one of OK, /],
    [
      'nested too deep to serialize',
      body({ check: 0 }).replace('"check":0', `"check":${'['.repeat(20_000)}${']'.repeat(20_000)}`),
      'the event is nested too deeply',
    ],
  ])('is malformed because of its producer if the message is %s', (_, text, detail) => {
    const invalid = { reason: 'malformed', cause: 'producer', errors: [expect.stringMatching(detail)], warnings: [] };
    expect(planEvent(text, ACCEPTED_AT_MS)).toMatchObject(invalid);
  });

  it('keeps its IDs and its warnings if it is nested too deep to serialize', () => {
    const text = body({ check: 0, details: { state: 'CRITICAL', timestamp: 0 } });
    const deep = text.replace('"check":0', `"check":${'['.repeat(20_000)}${']'.repeat(20_000)}`);
    expect(planEvent(deep, ACCEPTED_AT_MS)).toMatchObject({
      errors: ['the event is nested too deeply'],
      warnings: [expect.stringMatching(/^details\.timestamp must be/)],
      ids: { tenant_id: 'acme', event_id: alarmEvent().event_id },
    });
  });

  it.each([0, 900 * 1024])(
    'is malformed because of the service if it is an invalid continuation with %i spaces',
    (spaces) => {
      expect(planEvent(`{"continuation":{},"event":{}${' '.repeat(spaces)}}`, ACCEPTED_AT_MS)).toMatchObject({
        reason: 'malformed',
        cause: 'service',
        errors: ['the continuation is not valid'],
      });
    },
  );

  it('is too large above 900 KiB', () => {
    const pad = 900 * 1024 - Buffer.byteLength(body({ check: '' }));
    expect(planEvent(body({ check: 'x'.repeat(pad) }), ACCEPTED_AT_MS)).toMatchObject({ ids });
    expect(planEvent(body({ check: 'x'.repeat(pad + 1) }), ACCEPTED_AT_MS)).toEqual({
      reason: 'too_large',
      cause: 'producer',
      errors: ['the event must be at most 900 KiB'],
      warnings: [],
      ids: { tenant_id: 'acme', event_id: alarmEvent().event_id },
    });
    expect(planEvent(`{${' '.repeat(900 * 1024)}`, ACCEPTED_AT_MS)).toMatchObject({
      reason: 'too_large',
      errors: ['the event must be at most 900 KiB', 'the event must be JSON'],
    });
  });

  it('keeps its content and when SQS accepted it in a continuation, up to the maximum size', () => {
    const pad = 900 * 1024 - Buffer.byteLength(body({ check: '' }));
    const first = planned(body({ check: 'x'.repeat(pad) }));
    const continued = planEvent(continuationBody(first, ids.slice(1), ids, true), ACCEPTED_AT_MS + 60_000);
    expect(continued).toMatchObject({
      ids: ids.slice(1),
      known: ids,
      isContinuation: true,
      isPartlySent: true,
      acceptedAtMs: ACCEPTED_AT_MS,
      shared: { tail: first.shared.tail },
    });
  });

  it('has a digest that does not depend on the plan', () => {
    const text = (id: string) =>
      body({ notification_plan: { critical_state: [id] } }).replace('"data":153', '"data":95.0');
    const digest = (id: string) => /"content_hash":"([^"]*)"/.exec(planned(text(id)).shared.tail)?.[1];
    expect(digest('nt1e5aaaaa')).toBe(digest('ntbbbbbbbb'));
  });
});
