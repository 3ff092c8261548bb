import fc from 'fast-check';
import { isValidContent } from 'local-aws/sqs/queued-message.ts';
import { describe, expect, it } from 'vitest';
import { MAX_TECHNICAL_CONTACTS } from '../../shared/contracts/account.ts';
import { isAlarmEvent } from '../../shared/contracts/alarm-event.ts';
import { parseJson } from '../../shared/contracts/json.ts';
import { type Delivery, roundOf } from '../../shared/contracts/messages.ts';
import { deliveryId, deliveryKey } from '../../shared/domain/delivery-key.ts';
import { bodyForRound, MAX_ENVELOPE_BYTES, parseDelivery } from '../../shared/domain/delivery-message.ts';
import { addressHash } from '../../shared/domain/email-stop.ts';
import { deliveryBody, deliveryBytes, sharedBody } from '../../shared/domain/new-delivery-message.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { alarmEvent, alertContent, EVENT_TIME_MS } from '../support/events.ts';
import { forAll } from '../support/quick-run.ts';

const id = newNotificationId();
const keyText = (event: ReturnType<typeof alarmEvent>, notificationId: string) => {
  const { pk, sk } = deliveryKey(event, notificationId);
  return `${pk} ${sk}`;
};

/** Tenant IDs, including those that resemble parts of a key. */
const tenant = fc.oneof(
  fc.stringMatching(/^[!-~]{1,20}$/),
  fc.constantFrom('a', 'a#b', '#', `delivery#${id}`, `${id}#a`, 'a|b', '["a"]', 'a","b'),
);
const eventId = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1 }),
  fc.constantFrom(`a:b:${EVENT_TIME_MS}:OK`, `a:${EVENT_TIME_MS}:OK`),
);

describe('the key of a delivery record', () => {
  it('differs for another tenant, event or notification', () => {
    const other = newNotificationId();
    forAll(500)(
      fc.tuple(tenant, eventId, fc.constantFrom(id, other)),
      fc.tuple(tenant, eventId, fc.constantFrom(id, other)),
      (left, right) => {
        const isSame = JSON.stringify(left) === JSON.stringify(right);
        const [a, b] = [left, right].map(([tenant_id, event_id, notification]) => {
          const event = alarmEvent({ tenant_id, event_id });
          return { key: keyText(event, notification), id: deliveryId(event, notification) };
        });
        expect(a?.key === b?.key).toBe(isSame);
        expect(a?.id === b?.id).toBe(isSame);
        // The ID is valid in any header.
        expect(a?.id).toMatch(/^[0-9a-f]{32}$/);
      },
    );
  });

  it('has the partition of its notification, and sorts by the time of the event', () => {
    const at = (time: number) => deliveryKey(alarmEvent({ event_id: `acme:en:al:ch:${time}:OK` }), id);
    const [early, late] = [at(EVENT_TIME_MS), at(EVENT_TIME_MS + 1)];
    expect(early.pk).toBe(late.pk);
    expect(early.sk < late.sk).toBe(true);
  });

  it('sorts first if the event ID contains no time', () => {
    for (const event_id of ['e', 'a:b:12:OK', `${EVENT_TIME_MS}`, 'a:99999999999999:OK']) {
      expect(deliveryKey(alarmEvent({ event_id }), id).sk).toMatch(/^0{13}#/);
    }
  });

  it('stays within DynamoDB limits for the longest IDs', () => {
    const { pk, sk } = deliveryKey(alarmEvent({ tenant_id: 't'.repeat(128), event_id: '😀'.repeat(512) }), id);
    expect(Buffer.byteLength(pk)).toBeLessThanOrEqual(2_048);
    expect(Buffer.byteLength(sk)).toBeLessThanOrEqual(1_024);
  });
});

const parse = (body: string): Delivery => {
  const delivery = parseDelivery(body);
  if (!delivery) throw new Error('not a delivery');
  return delivery;
};
const plan = { id: 'np', critical_state: ['ntA', 'ntB'] };
const hashOf = (event = alarmEvent(), acceptedAtMs = EVENT_TIME_MS) =>
  parse(deliveryBody({ id: 'ntA' }, sharedBody(event, { accepted_at_ms: acceptedAtMs }))).content_hash;
const envelopeBytes = (body: string): number => Buffer.byteLength(body.slice(0, body.indexOf('\n') + 1));

describe('the message of a delivery', () => {
  it('parses to the header and the payload of the event without its plan, for any IDs', () => {
    forAll()(fc.string({ unit: 'binary' }), fc.array(fc.string(), { maxLength: 3 }), (id, siblings) => {
      const shared = sharedBody(alarmEvent({ notification_plan: plan }), { accepted_at_ms: EVENT_TIME_MS });
      expect(parse(deliveryBody({ id }, shared, siblings))).toEqual({
        notification_id: id,
        siblings,
        accepted_at_ms: EVENT_TIME_MS,
        content_hash: hashOf(),
        ...alertContent(alarmEvent()),
      });
    });
  });

  it('contains numbers and keys of the event as they are written', () => {
    const written = '{"id":"ch","big":18446744073709551615,"one":1.0,"__proto__":{"a":1e5}}';
    const event = parseJson(JSON.stringify(alarmEvent({ check: 0 })).replace('"check":0', `"check":${written}`));
    if (!isAlarmEvent(event)) throw new Error('not an alarm event');
    const body = deliveryBody({ id: 'ntA' }, sharedBody(event, { accepted_at_ms: EVENT_TIME_MS }));
    expect(parse(body).payload).toContain(`"check":${written}`);
    expect(parse(bodyForRound(parse(body), { round: 2 })).payload).toBe(parse(body).payload);
  });

  it('is one JSON document with one line feed, which SQS accepts, and has the declared length in bytes', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'ä', '😀', '\ufffe', '\uffff', '\ud800', '"', '\n', '\u0000'),
    });
    forAll()(text, text, fc.option(fc.array(text), { nil: undefined }), (label, id, siblings) => {
      const event = alarmEvent({ alarm: { id: 'a', label } });
      const shared = sharedBody(event, { accepted_at_ms: EVENT_TIME_MS });
      const body = deliveryBody({ id }, shared, siblings);
      expect(body.split('\n')).toHaveLength(2);
      expect(JSON.parse(body)).toMatchObject({ notification_id: id, payload: { alarm: { label } } });
      expect(Buffer.byteLength(body)).toBe(deliveryBytes({ id }, shared, siblings));
      expect(isValidContent(body)).toBe(true);
      expect(parse(body)).toMatchObject({ notification_id: id });
      expect(parse(body).siblings).toEqual(siblings);
    });
  });

  it.each(['a', 'ä', '😀', '\uffff', '"', '\u0000', '\uffff\u200b'])(
    'has an envelope of at most 16 KB, whose last facts are dropped, for the longest values of %j',
    (character) => {
      const siblings = Array.from({ length: 25 }, () => 'nt01HZX3V5Q0000000000000ABC');
      const headers = {
        traceparent: `01-${'1'.repeat(32)}-${'1'.repeat(16)}-00-${'x'.repeat(199)}`,
        tracestate: `a=${'"'.repeat(250)},b=${'"'.repeat(250)}`,
      };
      const long = character.repeat(20_000);
      const metrics = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`m${index}`, { data: long }]));
      const event = alarmEvent({
        event_id: character.repeat(512 / character.length),
        tenant_id: '"'.repeat(128),
        details: { state: 'CRITICAL', status: long, metrics, target: long },
        entity: { id: long, label: long },
        alarm: { id: long, label: long },
        previous_state: character.repeat(255 / character.length),
      });
      const shared = sharedBody(event, {
        accepted_at_ms: EVENT_TIME_MS,
        dispatched_at_ms: EVENT_TIME_MS,
        producer_message_id: 'm'.repeat(100),
        trace: { id: '1'.repeat(32), headers },
      });
      const first = parse(deliveryBody({ id: 'nt01HZX3V5Q0000000000000ABC' }, shared, siblings));
      const reached_recipient_hashes = Array.from({ length: 60 }, (_, index) =>
        addressHash('id', `${index}@example.com`),
      );
      const body = bodyForRound(first, { round: 1_000, reached_recipient_hashes });
      expect(envelopeBytes(body)).toBeLessThanOrEqual(MAX_ENVELOPE_BYTES);
      expect(parse(body).reached_recipient_hashes).toEqual(reached_recipient_hashes.slice(-MAX_TECHNICAL_CONTACTS));
      const { facts } = parse(body).event;
      expect(facts).toEqual(shared.header.facts.slice(0, facts.length));
    },
  );

  it.each([
    ['no line feed', '{"notification_id":"ntA"}'],
    ['an envelope above 16 KB', `{"a":"${'x'.repeat(16 * 1_024)}",\n"payload":{}}`],
    ['another field after the line feed', '{"notification_id":"ntA",\n"event":{}}'],
    ['an envelope without an event', '{"notification_id":"ntA","accepted_at_ms":1,"content_hash":"h",\n"payload":{}}'],
    ['an envelope that is no JSON', '{,\n"payload":{}}'],
  ])('is invalid with %s', (_, body) => {
    expect(parseDelivery(body)).toBeUndefined();
  });

  it('is for the first round by default, and contains the round of a dead letter', () => {
    const first = parse(
      deliveryBody({ id: 'ntA' }, sharedBody(alarmEvent(), { accepted_at_ms: EVENT_TIME_MS }), ['ntB']),
    );
    expect(roundOf(first)).toBe(1);
    const second = parse(bodyForRound(first, { round: 2 }));
    expect(second).toEqual({ ...first, round: 2 });
    expect(roundOf(second)).toBe(2);
  });
});

describe('the digest of an event', () => {
  it('has 22 URL-safe characters, and depends neither on the plan, when SQS accepted the event, nor on white space', () => {
    expect(hashOf()).toMatch(/^[\w-]{22}$/);
    expect(hashOf(alarmEvent({ notification_plan: plan }))).toBe(hashOf());
    expect(hashOf(alarmEvent(), EVENT_TIME_MS + 1)).toBe(hashOf());
    const spaced: unknown = JSON.parse(JSON.stringify(alarmEvent(), undefined, 2));
    expect(isAlarmEvent(spaced) && hashOf(spaced)).toBe(hashOf());
  });

  it('differs for other content', () => {
    expect(hashOf(alarmEvent({ previous_state: 'WARNING' }))).not.toBe(hashOf());
    expect(hashOf(alarmEvent({ check: { id: 'other' } }))).not.toBe(hashOf());
  });
});
