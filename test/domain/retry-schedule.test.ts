import { describe, expect, it } from 'vitest';
import { type Failure, failed } from '../../shared/domain/attempt-outcome.ts';
import {
  internalErrorDelaySeconds,
  MAX_AGE_MS,
  MAX_ATTEMPTS,
  MAX_WAIT_FOR_ATTEMPT_MS,
  retryDelayMs,
} from '../../shared/domain/retry-schedule.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const schedule = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR];

const transient = failed('transient', 'network_error', '');
const throttled = (retryAfterMs: number, rest: Partial<Failure> = {}): Failure => ({
  ...failed('throttled', 'throttled', '', { retryAfterMs }),
  ...rest,
});
const none = () => 0;
const full = () => 1;

describe('the wait after a failed attempt', () => {
  it('follows the schedule: nine attempts, about eight hours', () => {
    const waits = schedule.map((_, index) => retryDelayMs(index + 1, transient, 1, none));
    expect(waits).toEqual(schedule);
    expect(MAX_ATTEMPTS).toBe(9);
    expect(schedule.reduce((sum, wait) => sum + wait) / HOUR).toBeCloseTo(7.71, 2);
  });

  it('is up to a fifth longer, never shorter', () => {
    expect(schedule.map((_, index) => retryDelayMs(index + 1, transient, 1, full))).toEqual(
      schedule.map((wait) => wait * 1.2),
    );
  });

  it('spreads what failed together', () => {
    const waits = Array.from({ length: 50 }, () => retryDelayMs(1, transient, 1) ?? 0);
    expect(new Set(waits).size).toBeGreaterThan(10);
    for (const wait of waits) {
      expect(wait).toBeGreaterThanOrEqual(5 * SECOND);
      expect(wait).toBeLessThanOrEqual(6 * SECOND);
    }
  });

  it('is what the destination asks for where that is longer', () => {
    expect(retryDelayMs(1, throttled(90 * SECOND), 1, none)).toBe(90 * SECOND);
    expect(retryDelayMs(2, { ...transient, retryAfterMs: HOUR }, 1, none)).toBe(HOUR);
  });

  it('is the schedule where the destination asks for less', () => {
    expect(retryDelayMs(3, throttled(SECOND), 1, none)).toBe(2 * MINUTE);
    expect(retryDelayMs(3, throttled(0), 1, none)).toBe(2 * MINUTE);
  });

  it('ends with the ninth attempt, whatever the destination asks for', () => {
    for (const failure of [transient, throttled(HOUR)]) {
      expect(retryDelayMs(8, failure, 1, none)).toBe(4 * HOUR);
      expect(retryDelayMs(9, failure, 1, none)).toBeUndefined();
      expect(retryDelayMs(100, failure, 1, none)).toBeUndefined();
    }
  });

  it('is none after a permanent failure', () => {
    expect(retryDelayMs(1, failed('permanent', 'http_status', '', { retryAfterMs: HOUR }), 1, none)).toBeUndefined();
  });

  it('is what our own account is asked to wait, without end, where the attempt does not count', () => {
    for (const attempts of [0, 1, 8, 9, 50]) {
      expect(retryDelayMs(attempts, throttled(5 * SECOND, { countsAsAttempt: false }), 1, none)).toBe(5 * SECOND);
      expect(retryDelayMs(attempts, throttled(5 * SECOND, { countsAsAttempt: false }), 1, full)).toBe(6 * SECOND);
    }
  });

  it('is shortened by the scale, in whole milliseconds', () => {
    expect(retryDelayMs(1, transient, 0.01, none)).toBe(50);
    expect(retryDelayMs(1, transient, 0.0001, full)).toBe(1);
    expect(retryDelayMs(8, throttled(HOUR), 0.001, none)).toBe(14_400);
    expect(retryDelayMs(1, throttled(HOUR, { countsAsAttempt: false }), 0.5, none)).toBe(HOUR / 2);
  });

  it('still lets a delivery come again where the scale is 0', () => {
    expect(retryDelayMs(1, transient, 0, full)).toBe(0);
    expect(retryDelayMs(9, transient, 0, full)).toBeUndefined();
  });
});

describe('the wait after a failure of ours', () => {
  it('doubles with each receive up to 90 s, and is 15 min after 30 receives', () => {
    expect([1, 2, 3, 6, 7, 30, 31, 100].map((receives) => internalErrorDelaySeconds(receives, 1))).toEqual([
      2, 4, 8, 64, 90, 90, 900, 900,
    ]);
  });

  it('lets a failure show in every two minutes for its first half an hour, and lasts 18 hours in all', () => {
    const delays = Array.from({ length: 100 }, (_, index) => internalErrorDelaySeconds(index + 1, 1));
    expect(Math.max(...delays.slice(0, 30))).toBeLessThan(120);
    expect(delays.slice(0, 30).reduce((sum, delay) => sum + delay)).toBeGreaterThan(1_800);
    expect(delays.reduce((sum, delay) => sum + delay) / 3_600).toBeCloseTo(18.1, 1);
  });

  it('is shortened by the scale, in whole seconds', () => {
    expect(internalErrorDelaySeconds(10, 0.01)).toBe(1);
    expect(internalErrorDelaySeconds(31, 0.01)).toBe(9);
  });
});

it('a delivery is given up a day after its first attempt, or after four days without any', () => {
  expect([MAX_AGE_MS, MAX_WAIT_FOR_ATTEMPT_MS]).toEqual([24 * HOUR, 96 * HOUR]);
});
