import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deliveryId, deliveryKey } from '../../shared/domain/delivery-key.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { alarmEvent, EVENT_TIME_MS } from '../support/events.ts';

const id = newNotificationId();
const place = (event: ReturnType<typeof alarmEvent>, notificationId: string) => {
  const { pk, sk } = deliveryKey(event, notificationId);
  return `${pk} ${sk}`;
};

/** A tenant's name with every sign that could be mistaken for a part of a key. */
const tenant = fc.oneof(
  fc.stringMatching(/^[!-~]{1,20}$/),
  fc.constantFrom('a', 'a#b', '#', `delivery#${id}`, `${id}#a`, 'a|b', '["a"]', 'a","b'),
);
const eventId = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1 }),
  fc.constantFrom(`a:b:${EVENT_TIME_MS}:OK`, `a:${EVENT_TIME_MS}:OK`),
);

describe('the record of a delivery', () => {
  it('is the same for the same event and notification, whatever else the event holds', () => {
    const changed = alarmEvent({ details: { state: 'OK' }, entity: { id: 'other' }, alarm: { id: 'other' } });
    expect(deliveryKey(changed, id)).toEqual(deliveryKey(alarmEvent(), id));
    expect(deliveryId(changed, id)).toBe(deliveryId(alarmEvent(), id));
  });

  it('is another one for another tenant, event or notification', () => {
    const other = newNotificationId();
    fc.assert(
      fc.property(
        fc.tuple(tenant, eventId, fc.constantFrom(id, other)),
        fc.tuple(tenant, eventId, fc.constantFrom(id, other)),
        (one, two) => {
          const isSame = JSON.stringify(one) === JSON.stringify(two);
          const [a, b] = [one, two].map(([tenant_id, event_id, notification]) => {
            const event = alarmEvent({ tenant_id, event_id });
            return { place: place(event, notification), id: deliveryId(event, notification) };
          });
          expect(a?.place === b?.place).toBe(isSame);
          expect(a?.id === b?.id).toBe(isSame);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('lies with those of its notification, in the order of the events’ times', () => {
    const at = (time: number) => deliveryKey(alarmEvent({ event_id: `acme:en:al:ch:${time}:OK` }), id);
    const [early, late] = [at(EVENT_TIME_MS), at(EVENT_TIME_MS + 1)];
    expect(early.pk).toBe(late.pk);
    expect(early.sk < late.sk).toBe(true);
  });

  it('comes first where the id of its event tells no time', () => {
    for (const event_id of ['e', 'a:b:12:OK', `${EVENT_TIME_MS}`, 'a:99999999999999:OK']) {
      expect(deliveryKey(alarmEvent({ event_id }), id).sk).toMatch(/^0{13}#/);
    }
  });

  it('has keys that DynamoDB takes, however long the names are', () => {
    const { pk, sk } = deliveryKey(alarmEvent({ tenant_id: 't'.repeat(128), event_id: '😀'.repeat(512) }), id);
    expect(Buffer.byteLength(pk)).toBeLessThanOrEqual(2_048);
    expect(Buffer.byteLength(sk)).toBeLessThanOrEqual(1_024);
  });
});

describe('the id of a delivery', () => {
  it('is letters and digits alone, so that it can be a part of any header', () => {
    fc.assert(
      fc.property(tenant, eventId, (tenant_id, event_id) => {
        expect(deliveryId(alarmEvent({ tenant_id, event_id }), id)).toMatch(/^[0-9a-f]{32}$/);
      }),
    );
  });
});
