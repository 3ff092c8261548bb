import { describe, expect, it } from 'vitest';
import { isAlarmEvent } from '../../shared/contracts/alarm-event.ts';
import { parseJson } from '../../shared/contracts/json.ts';
import {
  changedAtMs,
  compareEventTimes,
  isOlder,
  isOlderByTimestamp,
  readEventTime,
} from '../../shared/domain/event-time.ts';
import { alarmEvent, EVENT_TIME_MS } from '../support/events.ts';

const ACCEPTED_AT_MS = EVENT_TIME_MS + 500;
const NOT_MS = 'must be a time in epoch milliseconds: a whole number of at least 1000000000000';
const AHEAD = 'must be at most 60 seconds after SQS accepted the event';
const read = (timestamp: unknown, event_id = 'e') =>
  readEventTime(alarmEvent({ event_id, details: { state: 'OK', timestamp } }), ACCEPTED_AT_MS);

describe('the time of an event', () => {
  it('is the timestamp in its details', () => {
    expect(read(EVENT_TIME_MS - 7, alarmEvent().event_id)).toEqual({
      time: { producedAtMs: EVENT_TIME_MS - 7, acceptedAtMs: ACCEPTED_AT_MS },
      warnings: [],
    });
  });

  it('is the time in its ID if its details have none', () => {
    expect(read(undefined, alarmEvent().event_id).time.producedAtMs).toBe(EVENT_TIME_MS);
    expect(read(undefined, `a:${EVENT_TIME_MS}:resolved`).time.producedAtMs).toBe(EVENT_TIME_MS);
  });

  it.each(['e', 'alarm:42:closed', 'a:b:OK'])(
    'is when SQS accepted it, without a warning, if its ID %s has no time',
    (id) => {
      const { time, warnings } = read(undefined, id);
      expect(time.producedAtMs).toBeUndefined();
      expect(changedAtMs(time)).toBe(ACCEPTED_AT_MS);
      expect(warnings).toEqual([]);
    },
  );

  it.each([null, '1700000000000', {}, -1, 0, 1e-200, 1_700_000_000, EVENT_TIME_MS + 0.5, 10 ** 12 - 1])(
    'ignores the timestamp %o in its details with a warning, and is the time in its ID',
    (timestamp) => {
      const { time, warnings } = read(timestamp, alarmEvent().event_id);
      expect(time.producedAtMs).toBe(EVENT_TIME_MS);
      expect(warnings).toEqual([`details.timestamp ${NOT_MS}`]);
    },
  );

  it.each(['1700000000', '0', '0000000000001'])('ignores the time %s in its ID with a warning', (digits) => {
    const { time, warnings } = read(undefined, `a:b:${digits}:OK`);
    expect(time.producedAtMs).toBeUndefined();
    expect(warnings).toEqual([`the time in event_id ${NOT_MS}`]);
  });

  it('may be up to 60 s after SQS accepted it, because clocks differ', () => {
    expect(read(ACCEPTED_AT_MS + 60_000)).toMatchObject({
      time: { producedAtMs: ACCEPTED_AT_MS + 60_000 },
      warnings: [],
    });
    expect(read(ACCEPTED_AT_MS + 60_001)).toMatchObject({
      time: { producedAtMs: undefined },
      warnings: [`details.timestamp ${AHEAD}`],
    });
    expect(read(undefined, `a:${ACCEPTED_AT_MS + 60_001}:OK`).warnings).toEqual([`the time in event_id ${AHEAD}`]);
  });

  it('is exact for a number in exponent notation', () => {
    const event = parseJson(
      '{"event_id":"e","tenant_id":"t","details":{"state":"OK","timestamp":1.7e12},"entity":{"id":"e"},"alarm":{"id":"a"}}',
    );
    expect(isAlarmEvent(event) && readEventTime(event, ACCEPTED_AT_MS).time.producedAtMs).toBe(EVENT_TIME_MS);
  });
});

describe('the order of two events of an incident', () => {
  const at = (producedAtMs: number | undefined, acceptedAtMs: number) => ({ producedAtMs, acceptedAtMs });

  it('is that of the times of their producer', () => {
    expect(isOlder(at(1, 9), at(2, 5))).toBe(true);
    expect(isOlder(at(2, 5), at(1, 9))).toBe(false);
  });

  it.each([
    ['the times of their producer are equal', 1, 1],
    ['the first has no time', undefined, 1],
    ['the second has no time', 2, undefined],
    ['neither has a time', undefined, undefined],
  ])('is that in which SQS accepted them if %s', (_, first, second) => {
    expect(isOlder(at(first, 5), at(second, 6))).toBe(true);
    expect(isOlder(at(first, 6), at(second, 5))).toBe(false);
  });

  it('sorts events, older ones first', () => {
    const sorted = [at(1, 5), at(1, 6), at(undefined, 7), at(3, 8)];
    expect(sorted.toReversed().toSorted(compareEventTimes)).toEqual(sorted);
    expect(compareEventTimes(at(1, 5), at(1, 5))).toBe(0);
  });

  it('is due to the timestamps alone if SQS accepted the older event more than 60 s after the newer one', () => {
    expect(isOlderByTimestamp(at(1, 60_006), at(2, 5))).toBe(true);
    expect(isOlderByTimestamp(at(1, 60_005), at(2, 5))).toBe(false);
    expect(isOlderByTimestamp(at(2, 60_006), at(1, 5))).toBe(false);
    expect(isOlderByTimestamp(at(undefined, 60_006), at(2, 5))).toBe(false);
  });
});
