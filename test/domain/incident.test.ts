import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isAlarmEvent } from '../../shared/contracts/alarm-event.ts';
import { parseJson } from '../../shared/contracts/json.ts';
import { advanced, byTime, claimedTurn, eventTime, incidentKey, isSuperseded } from '../../shared/domain/incident.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { alarmEvent, EVENT_TIME } from '../support/events.ts';

const NOW = EVENT_TIME + 500;
const id = newNotificationId();
const at = (timestamp: unknown, event_id = 'e') => alarmEvent({ event_id, details: { state: 'OK', timestamp } });
const turn = (newest: number) => ({ ...claimedTurn(alarmEvent(), id, 'owner', NOW), newest });

describe('the name of an incident', () => {
  it('is the same from the trigger to the resolve', () => {
    const resolve = alarmEvent({
      event_id: 'other',
      details: { state: 'OK' },
      entity: { id: 'enAAAA', label: 'renamed' },
    });
    expect(incidentKey(resolve)).toBe(incidentKey(alarmEvent()));
  });

  it('is another one for another tenant, entity or alarm, whatever signs are in their ids', () => {
    const part = fc.oneof(fc.string({ minLength: 1, maxLength: 4 }), fc.constantFrom('a', 'a:b', 'a","b', 'b', ':'));
    fc.assert(
      fc.property(fc.tuple(part, part, part), fc.tuple(part, part, part), (one, other) => {
        const [a, b] = [one, other].map(([tenant_id, entity, alarm]) =>
          incidentKey(alarmEvent({ tenant_id, entity: { id: entity }, alarm: { id: alarm } })),
        );
        expect(a === b).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
      { numRuns: 500 },
    );
  });

  it('fits into what a pager takes, however long the ids are', () => {
    const long = 'x'.repeat(100_000);
    expect(incidentKey(alarmEvent({ entity: { id: long }, alarm: { id: long } })).length).toBeLessThanOrEqual(255);
  });
});

describe('when an event happened', () => {
  it('is what its details say', () => {
    expect(eventTime(at(123))).toBe(123);
  });

  it.each([undefined, null, '123', {}])('is what its id says where its details say %o', (timestamp) => {
    expect(eventTime(at(timestamp, alarmEvent().event_id))).toBe(EVENT_TIME);
    expect(eventTime(at(timestamp))).toBeUndefined();
  });

  it.each([
    ['nanoseconds', EVENT_TIME * 1_000_000],
    ['years ahead', NOW + 2 * 365 * 86_400_000],
    ['before the epoch', -1],
  ])('is what its id says where its details cannot be right, lest it silence all that follows: %s', (_, timestamp) => {
    expect(eventTime(at(timestamp, alarmEvent().event_id), NOW)).toBe(EVENT_TIME);
    expect(eventTime(at(timestamp), NOW)).toBeUndefined();
  });

  it('may be a little ahead of our clock', () => {
    expect(eventTime(at(NOW + 3_600_000), NOW)).toBe(NOW + 3_600_000);
  });

  it('is known to the millisecond, however its number is written', () => {
    const event = parseJson(
      '{"event_id":"e","tenant_id":"t","details":{"state":"OK","timestamp":1.7e12},"entity":{"id":"e"},"alarm":{"id":"a"}}',
    );
    expect(isAlarmEvent(event) && eventTime(event, NOW)).toBe(EVENT_TIME);
  });

  it('puts events in order', () => {
    const sorted = [at(3), at(1), at(2)].toSorted(byTime).map(eventTime);
    expect(sorted).toEqual([1, 2, 3]);
  });
});

describe('the turn of an incident', () => {
  it('is leased for 35 s, beside the records of its notification', () => {
    expect(claimedTurn(alarmEvent(), id, 'owner', NOW)).toEqual({
      pk: `delivery#${id}#acme`,
      sk: `incident#${incidentKey(alarmEvent())}`,
      newest: 0,
      lease: NOW + 35_000,
      owner: 'owner',
      expires: Math.floor(NOW / 1000) + 30 * 86_400,
    });
  });

  it('lets an event go that is as new as the newest or newer, and none that is older', () => {
    expect([99, 100, 101].map((time) => isSuperseded(at(time), turn(100)))).toEqual([true, false, false]);
  });

  it('lets an event go that does not say when it was', () => {
    expect(isSuperseded(at(undefined), turn(100))).toBe(false);
  });

  it('remembers the newest event that has arrived', () => {
    expect(advanced(turn(100), at(200)).newest).toBe(200);
    expect(advanced(turn(100), at(50)).newest).toBe(100);
    expect(advanced(turn(100), at(undefined)).newest).toBe(100);
  });
});
