import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deliveryId, deliveryKey } from '../../shared/domain/delivery-key.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { alarmEvent, EVENT_TIME_MS } from '../support/events.ts';
import { runs } from '../support/quick-run.ts';

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
  it('depends only on the IDs of event and notification', () => {
    const changedEvent = alarmEvent({ details: { state: 'OK' }, entity: { id: 'other' }, alarm: { id: 'other' } });
    expect(deliveryKey(changedEvent, id)).toEqual(deliveryKey(alarmEvent(), id));
    expect(deliveryId(changedEvent, id)).toBe(deliveryId(alarmEvent(), id));
  });

  it('differs for another tenant, event or notification', () => {
    const other = newNotificationId();
    fc.assert(
      fc.property(
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
        },
      ),
      { numRuns: runs(500) },
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

describe('the ID of a delivery', () => {
  it('consists of 32 hexadecimal digits, so it is valid in any header', () => {
    fc.assert(
      fc.property(tenant, eventId, (tenant_id, event_id) => {
        expect(deliveryId(alarmEvent({ tenant_id, event_id }), id)).toMatch(/^[0-9a-f]{32}$/);
      }),
    );
  });
});
