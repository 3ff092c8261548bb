import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isAlarmEvent } from '../../shared/contracts/alarm-event.ts';
import { parseJson } from '../../shared/contracts/json.ts';
import { claimedLock, eventTime, incidentKey, lockRetryDelayMs } from '../../shared/domain/incident.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { alarmEvent, EVENT_TIME_MS } from '../support/events.ts';

const NOW = EVENT_TIME_MS + 500;
const id = newNotificationId();
const at = (timestamp: unknown, event_id = 'e') => alarmEvent({ event_id, details: { state: 'OK', timestamp } });

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
    expect(eventTime(at(123), NOW)).toBe(123);
  });

  it.each([undefined, null, '123', {}, -1])('is what its id says where its details say %o', (timestamp) => {
    expect(eventTime(at(timestamp, alarmEvent().event_id), NOW)).toBe(EVENT_TIME_MS);
  });

  it('is when SQS accepted it where it says nothing', () => {
    expect(eventTime(at(undefined), NOW)).toBe(NOW);
  });

  it.each([
    ['its producer counts nanoseconds', EVENT_TIME_MS * 1_000_000],
    ["its producer's clock is a day ahead", NOW + 86_400_000],
    ["its producer's clock is a second ahead", NOW + 1_000],
  ])('is never later than SQS accepted it, lest it silence what follows: %s', (_, timestamp) => {
    expect(eventTime(at(timestamp, alarmEvent().event_id), NOW)).toBe(NOW);
    expect(eventTime(at(undefined, `a:b:c:d:${NOW + 5}:OK`), NOW)).toBe(NOW);
  });

  it('is known to the millisecond, however its number is written', () => {
    const event = parseJson(
      '{"event_id":"e","tenant_id":"t","details":{"state":"OK","timestamp":1.7e12},"entity":{"id":"e"},"alarm":{"id":"a"}}',
    );
    expect(isAlarmEvent(event) && eventTime(event, NOW)).toBe(EVENT_TIME_MS);
  });
});

describe('the lock of an incident', () => {
  it('is leased for 35 s, beside the records of its notification', () => {
    expect(claimedLock(alarmEvent(), id, 'owner', NOW)).toEqual({
      pk: `delivery#${id}#acme`,
      sk: `incident#${incidentKey(alarmEvent())}`,
      newest_event_at_ms: 0,
      lease_until_ms: NOW + 35_000,
      claim_id: 'owner',
      ttl: Math.floor(NOW / 1000) + 30 * 86_400,
    });
  });

  const waits = (isOlder: boolean, seconds: number) => {
    let elapsed = 0;
    let asked = 0;
    while (elapsed < seconds * 1_000) elapsed += lockRetryDelayMs(asked++, isOlder);
    return asked;
  };

  it('is asked for every 35 s by the newest event that waits, however long it waits', () => {
    expect(lockRetryDelayMs(0, false)).toBe(2_000);
    expect(lockRetryDelayMs(1_000, false)).toBe(35_000);
  });

  it('is asked for seven times in 50 minutes by every other event, and every 15 minutes after that', () => {
    expect(waits(true, 3_000)).toBeLessThanOrEqual(8);
    expect(lockRetryDelayMs(1_000, true)).toBe(900_000);
  });
});
