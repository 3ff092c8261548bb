import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isValidContent } from '../../bin/local/aws/sqs/message.ts';
import { isAlarmEvent } from '../../shared/contracts/alarm-event.ts';
import { parseJson } from '../../shared/contracts/json.ts';
import { type Delivery, delivery } from '../../shared/contracts/messages.ts';
import { bodyForRound, deliveryBody, roundOf, sharedPart } from '../../shared/domain/delivery-message.ts';
import { alarmEvent, EVENT_TIME_MS } from '../support/events.ts';

const read = (body: string): Delivery => delivery.parse(parseJson(body));
const plan = { id: 'np', critical_state: ['ntA', 'ntB'] };
const hashOf = (event = alarmEvent(), time = EVENT_TIME_MS) =>
  read(deliveryBody('ntA', sharedPart(event, time))).content_hash;

describe('the message of a delivery', () => {
  it('is read back as what it was made of, whatever the ids are, and without the plan', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.array(fc.string(), { maxLength: 3 }), (id, siblings) => {
        const shared = sharedPart(alarmEvent({ notification_plan: plan }), EVENT_TIME_MS);
        expect(read(deliveryBody(id, shared, siblings))).toEqual({
          notification_id: id,
          ...(siblings.length > 0 && { siblings }),
          event_time_ms: EVENT_TIME_MS,
          content_hash: hashOf(),
          event: alarmEvent(),
        });
      }),
    );
  });

  it('keeps numbers to the last digit, and keys such as __proto__', () => {
    const text = JSON.stringify(alarmEvent()).replace('{', '{"big":18446744073709551615,"__proto__":{"a":1},');
    const event = parseJson(text);
    if (!isAlarmEvent(event)) throw new Error('This is no alarm event.');
    const body = deliveryBody('ntA', sharedPart(event, EVENT_TIME_MS));
    expect(body).toContain('"big":18446744073709551615,"__proto__":{"a":1}');
    expect(bodyForRound(read(body), 2)).toContain('"big":18446744073709551615,"__proto__":{"a":1}');
  });

  it('holds no character that SQS refuses, and means the same', () => {
    const event = alarmEvent({ alarm: { id: 'a', label: '\ufffe\uffff\u0000\ud800😀' } });
    const body = deliveryBody('ntA', sharedPart(event, EVENT_TIME_MS));
    expect(isValidContent(body)).toBe(true);
    expect(read(body).event).toEqual(event);
  });

  it('is as long as it says', () => {
    const shared = sharedPart(alarmEvent({ alarm: { id: 'ä😀' } }), EVENT_TIME_MS);
    expect(Buffer.byteLength(deliveryBody('ntA', shared))).toBe(
      shared.bytes + Buffer.byteLength(deliveryBody('ntA', { tail: '' })),
    );
  });

  it('is for the first round unless it says otherwise, and says the round of a dead letter', () => {
    const first = read(deliveryBody('ntA', sharedPart(alarmEvent(), EVENT_TIME_MS), ['ntB']));
    expect(roundOf(first)).toBe(1);
    const second = read(bodyForRound(first, 2));
    expect(second).toEqual({ ...first, round: 2 });
    expect(roundOf(second)).toBe(2);
  });
});

describe('the digest of an event', () => {
  it('is the same whatever its plan and its time are, and however its text is spaced', () => {
    expect(hashOf(alarmEvent({ notification_plan: plan }))).toBe(hashOf());
    expect(hashOf(alarmEvent(), EVENT_TIME_MS + 1)).toBe(hashOf());
    const spaced: unknown = JSON.parse(JSON.stringify(alarmEvent(), undefined, 2));
    expect(isAlarmEvent(spaced) && hashOf(spaced)).toBe(hashOf());
  });

  it('is another one for any other content', () => {
    expect(hashOf(alarmEvent({ previous_state: 'WARNING' }))).not.toBe(hashOf());
    expect(hashOf(alarmEvent({ check: { id: 'other' } }))).not.toBe(hashOf());
  });

  it('holds nothing of the event', () => {
    expect(hashOf()).toMatch(/^[\w-]{22}$/);
  });
});
