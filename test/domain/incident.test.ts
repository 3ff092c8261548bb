import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimedLock, incidentKey, lockRetryDelayMs } from '../../shared/domain/incident.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { alarmEvent, alarmHeader, EVENT_TIME_MS } from '../support/events.ts';
import { forAll } from '../support/quick-run.ts';

const NOW = EVENT_TIME_MS + 500;
const id = newNotificationId();

describe('the key of an incident', () => {
  it('is the same from the trigger to the resolve', () => {
    const resolve = alarmEvent({
      event_id: 'other',
      details: { state: 'OK' },
      entity: { id: 'enAAAA', label: 'renamed' },
    });
    expect(incidentKey(resolve)).toBe(incidentKey(alarmEvent()));
  });

  it('differs for another tenant, entity or alarm, for any characters in their IDs', () => {
    const part = fc.oneof(fc.string({ minLength: 1, maxLength: 4 }), fc.constantFrom('a', 'a:b', 'a","b', 'b', ':'));
    forAll(500)(fc.tuple(part, part, part), fc.tuple(part, part, part), (left, right) => {
      const [a, b] = [left, right].map(([tenant_id, entity, alarm]) =>
        incidentKey(alarmEvent({ tenant_id, entity: { id: entity }, alarm: { id: alarm } })),
      );
      expect(a === b).toBe(JSON.stringify(left) === JSON.stringify(right));
    });
  });

  it('has at most 255 characters for the longest IDs', () => {
    const longId = 'x'.repeat(100_000);
    expect(incidentKey(alarmEvent({ entity: { id: longId }, alarm: { id: longId } })).length).toBeLessThanOrEqual(255);
  });
});

describe('the lock of an incident', () => {
  it('is leased for 35 s, in the partition of its notification', () => {
    expect(claimedLock(alarmHeader(), id, 'claim1', NOW, { producedAtMs: NOW - 1, acceptedAtMs: NOW })).toEqual({
      pk: `delivery#${id}#acme`,
      sk: `incident#${incidentKey(alarmEvent())}`,
      advance_count: 0,
      lease_until_ms: NOW + 35_000,
      claim_id: 'claim1',
      locking_event: { event_at_ms: NOW - 1, accepted_at_ms: NOW, since_ms: NOW },
      ttl: Math.floor(NOW / 1000) + 30 * 86_400,
    });
  });

  it('is retried after 2, 4, 8, 16, 32 s, and then every 35 s', () => {
    expect([0, 1, 2, 3, 4, 5, 1_000].map(lockRetryDelayMs)).toEqual([
      2_000, 4_000, 8_000, 16_000, 32_000, 35_000, 35_000,
    ]);
  });
});
