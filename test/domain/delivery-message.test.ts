import fc from 'fast-check';
import { isValidContent } from 'local-aws/sqs/queued-message.ts';
import { describe, expect, it } from 'vitest';
import { isAlarmEvent } from '../../shared/contracts/alarm-event.ts';
import { parseJson } from '../../shared/contracts/json.ts';
import { type Delivery, delivery } from '../../shared/contracts/messages.ts';
import {
  bodyForRound,
  deliveryBody,
  deliveryBytes,
  roundOf,
  sharedBody,
} from '../../shared/domain/delivery-message.ts';
import { alarmEvent, EVENT_TIME_MS } from '../support/events.ts';

const parse = (body: string): Delivery => delivery.parse(parseJson(body));
const plan = { id: 'np', critical_state: ['ntA', 'ntB'] };
const hashOf = (event = alarmEvent(), acceptedAtMs = EVENT_TIME_MS) =>
  parse(deliveryBody('ntA', sharedBody(event, { accepted_at_ms: acceptedAtMs }))).content_hash;

describe('the message of a delivery', () => {
  it('parses to the event without its plan, for any IDs', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.array(fc.string(), { maxLength: 3 }), (id, siblings) => {
        const shared = sharedBody(alarmEvent({ notification_plan: plan }), { accepted_at_ms: EVENT_TIME_MS });
        expect(parse(deliveryBody(id, shared, siblings))).toEqual({
          notification_id: id,
          siblings,
          accepted_at_ms: EVENT_TIME_MS,
          content_hash: hashOf(),
          event: alarmEvent(),
        });
      }),
    );
  });

  it('preserves long numbers and keys such as __proto__', () => {
    const text = JSON.stringify(alarmEvent()).replace('{', '{"big":18446744073709551615,"__proto__":{"a":1},');
    const event = parseJson(text);
    if (!isAlarmEvent(event)) throw new Error('not an alarm event');
    const body = deliveryBody('ntA', sharedBody(event, { accepted_at_ms: EVENT_TIME_MS }));
    expect(body).toContain('"big":18446744073709551615,"__proto__":{"a":1}');
    expect(bodyForRound(parse(body), 2)).toContain('"big":18446744073709551615,"__proto__":{"a":1}');
  });

  it('has the declared length in bytes and content that SQS accepts, for any event and IDs', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'ä', '😀', '\ufffe', '\uffff', '\ud800', '"', '\u0000') });
    fc.assert(
      fc.property(text, text, fc.option(fc.array(text), { nil: undefined }), (label, id, siblings) => {
        const shared = sharedBody(alarmEvent({ alarm: { id: 'a', label } }), { accepted_at_ms: EVENT_TIME_MS });
        const body = deliveryBody(id, shared, siblings);
        expect(Buffer.byteLength(body)).toBe(deliveryBytes(id, shared, siblings));
        expect(isValidContent(body)).toBe(true);
        expect(parse(body)).toMatchObject({ notification_id: id, event: { alarm: { label } } });
        expect(parse(body).siblings).toEqual(siblings);
      }),
    );
  });

  it('is for the first round by default, and contains the round of a dead letter', () => {
    const first = parse(deliveryBody('ntA', sharedBody(alarmEvent(), { accepted_at_ms: EVENT_TIME_MS }), ['ntB']));
    expect(roundOf(first)).toBe(1);
    const second = parse(bodyForRound(first, 2));
    expect(second).toEqual({ ...first, round: 2 });
    expect(roundOf(second)).toBe(2);
  });
});

describe('the digest of an event', () => {
  it('does not depend on the plan, when SQS accepted the event, or white space', () => {
    expect(hashOf(alarmEvent({ notification_plan: plan }))).toBe(hashOf());
    expect(hashOf(alarmEvent(), EVENT_TIME_MS + 1)).toBe(hashOf());
    const spaced: unknown = JSON.parse(JSON.stringify(alarmEvent(), undefined, 2));
    expect(isAlarmEvent(spaced) && hashOf(spaced)).toBe(hashOf());
  });

  it('differs for other content', () => {
    expect(hashOf(alarmEvent({ previous_state: 'WARNING' }))).not.toBe(hashOf());
    expect(hashOf(alarmEvent({ check: { id: 'other' } }))).not.toBe(hashOf());
  });

  it('has 22 URL-safe characters', () => {
    expect(hashOf()).toMatch(/^[\w-]{22}$/);
  });
});
