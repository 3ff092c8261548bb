import { describe, expect, it } from 'vitest';
import type { Outage } from '../../shared/contracts/notice.ts';
import { endedOutage, type OutageFailure, outageAfterFailure, outageNumbers } from '../../shared/domain/outage.ts';
import { DAY_MS } from '../../shared/domain/time.ts';
import { deliveryRecord } from '../support/delivery-records.ts';

const DAY_START_MS = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;
const at = (minutes: number, days = 0): number => DAY_START_MS + days * DAY_MS + minutes * MINUTE_MS;

const failing = (failedAtMs: number): OutageFailure => ({ sk: 'a', failedAtMs, kinds: ['failing'] });
const failed = (failedAtMs: number): OutageFailure => ({ ...failing(failedAtMs), kinds: ['undelivered', 'failing'] });

const begin = (failure: OutageFailure, before?: Outage, wasDelivered = false): Outage => {
  const begun = outageAfterFailure(before, failure, wasDelivered);
  if (!begun) throw new Error('No outage has begun.');
  return begun;
};

/** Returns the notices of outages that begin with failures, each of which finds a delivery. */
const noticesAfter = (...failures: OutageFailure[]) => {
  let last: Outage | undefined;
  return failures.map((failure) => {
    const next = begin(failure, last, last !== undefined);
    const isNew = next.started_at_ms !== last?.started_at_ms;
    last = next;
    return isNew ? next.first_notice : undefined;
  });
};

describe('an outage', () => {
  it('begins with the first failure, and lasts until an alert arrives', () => {
    const begun = begin(failing(at(5)));
    expect(begun).toMatchObject({ started_at_ms: at(5), first_notice: 'failing' });
    for (const later of [failing(at(9)), failing(at(2))]) expect(outageAfterFailure(begun, later, false)).toBe(begun);
    expect(outageAfterFailure(begun, failing(at(9)), true)).toMatchObject({ started_at_ms: at(9) });
  });

  it('begins again with a failure after its end, and not with an earlier one', () => {
    const ended = endedOutage(begin(failing(at(5))), at(9));
    expect(ended.ended_at_ms).toBe(at(9));
    expect(outageAfterFailure(ended, failing(at(8)), false)).toBe(ended);
    const next = begin(failing(at(10)), ended);
    expect(next).toMatchObject({ started_at_ms: at(10), first_notice: 'failing' });
    expect(next.ended_at_ms).toBeUndefined();
  });

  it('is ended once, by an alert that arrives after its start', () => {
    const begun = begin(failing(at(5)));
    expect(endedOutage(begun, at(4))).toBe(begun);
    const ended = endedOutage(begun, at(6));
    expect(endedOutage(ended, at(7))).toBe(ended);
  });

  it('is announced at most three times a day', () => {
    const four = [1, 2, 3, 4].map((minutes) => failing(at(minutes)));
    expect(noticesAfter(...four, failing(at(1, 1)))).toEqual(['failing', 'failing', 'failing', undefined, 'failing']);
  });

  it('that would be the fourth of a day begins with a failure on the next one', () => {
    const [first, ...others] = [1, 2, 3].map((minutes) => failing(at(minutes)));
    const third = others.reduce((before, failure) => begin(failure, before, true), begin(first ?? failing(at(1))));
    const ended = endedOutage(third, at(4));
    expect(outageAfterFailure(ended, failing(at(5)), true)).toBe(ended);
    const next = begin(failing(at(0, 1)), ended);
    expect(next).toMatchObject({ started_at_ms: at(0, 1), announced_count: 1 });
    expect(outageAfterFailure(next, failing(at(0, 2)), false)).toBe(next);
  });

  it('is announced by the notice of an undelivered alert, of which there is one a day', () => {
    expect(noticesAfter(failed(at(1)), failed(at(2)), failed(at(3)))).toEqual(['undelivered', 'failing', 'failing']);
    const begun = begin(failing(at(1)));
    const undelivered = begin(failed(at(2)), begun);
    expect(undelivered).toMatchObject({ started_at_ms: at(1), first_notice: 'failing', undelivered_day_ms: at(0) });
    expect(outageAfterFailure(undelivered, failed(at(3)), false)).toBe(undelivered);
    expect(outageAfterFailure(undelivered, failed(at(3, 1)), false)).toMatchObject({ undelivered_day_ms: at(0, 1) });
  });

  it('is not announced by a setting that is off', () => {
    const withoutFailing = { ...failed(at(2)), kinds: ['undelivered'] as const };
    expect(noticesAfter({ ...withoutFailing }, { ...withoutFailing, failedAtMs: at(3) })).toEqual([
      'undelivered',
      undefined,
    ]);
  });
});

describe('the numbers of an outage', () => {
  const startedAtMs = at(5);
  let events = 0;
  const alert = (changes: Parameters<typeof deliveryRecord>[2]) =>
    deliveryRecord({ tenant: 'acme', id: 'ntA' }, `event${events++}`, {
      updated_at_ms: at(10),
      first_attempt_at_ms: 0,
      ...changes,
    });
  const arrived = alert({ last_failed_at_ms: at(6), updated_at_ms: at(10) });

  it('count the alerts that failed since the last arrival before it, without notices', () => {
    const records = [
      arrived,
      alert({ last_failed_at_ms: at(1), updated_at_ms: at(1) }),
      alert({ last_failed_at_ms: at(2), first_attempt_at_ms: at(0) }),
      alert({}),
      alert({ status: 'pending', last_failed_at_ms: at(7), first_attempt_at_ms: at(4) }),
      alert({ status: 'failed', last_failed_at_ms: at(8) }),
      alert({ status: 'cancelled', last_failed_at_ms: at(8) }),
      alert({ status: 'failed', last_failed_at_ms: at(8), notice: 'unreached' }),
    ];
    expect(outageNumbers(startedAtMs, arrived, records)).toEqual({
      failed: 5,
      delivered: 2,
      stillFailed: 2,
      firstFailedAtMs: at(2),
      lastFailedAtMs: at(8),
      isLasting: false,
    });
    expect(outageNumbers(startedAtMs, { ...arrived, last_failed_at_ms: at(1) }, [])).toMatchObject({
      failed: 1,
      delivered: 1,
    });
  });

  it.each([
    [
      'lasts if an alert failed after the last one arrived',
      [alert({ status: 'pending', last_failed_at_ms: at(11) })],
      true,
    ],
    ['has ended if the last alert that failed has arrived since', [alert({ last_failed_at_ms: at(11) })], false],
    [
      'has ended if another alert arrived since',
      [alert({ status: 'failed', last_failed_at_ms: at(11) }), alert({ updated_at_ms: at(12) })],
      false,
    ],
  ] as const)('say that it %s', (_, records, isLasting) => {
    expect(outageNumbers(startedAtMs, arrived, [arrived, ...records])).toMatchObject({ isLasting });
  });
});
