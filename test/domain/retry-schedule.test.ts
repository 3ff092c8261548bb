import { describe, expect, it } from 'vitest';
import { type Failure, failed } from '../../shared/domain/attempt-outcome.ts';
import { internalErrorDelayMs, MAX_ATTEMPTS, retryDelayMs } from '../../shared/domain/retry-schedule.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const schedule = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
];

const transient = failed('transient', 'network_error', '');
const throttled = (retryAfterMs: number, rest: Partial<Failure> = {}): Failure => ({
  ...failed('throttled', 'throttled', '', { retryAfterMs }),
  ...rest,
});
const noJitter = () => 0;
const fullJitter = () => 1;

describe('retryDelayMs', () => {
  it('follows the schedule of nine attempts over about eight hours, with jitter of up to 20%', () => {
    const delays = schedule.map((_, index) => retryDelayMs(index + 1, transient, 1, noJitter));
    expect(delays).toEqual(schedule);
    const jittered = schedule.map((_, index) => retryDelayMs(index + 1, transient, 1, fullJitter));
    expect(jittered).toEqual(schedule.map((delay) => delay * 1.2));
    expect(MAX_ATTEMPTS).toBe(9);
    expect(schedule.reduce((sum, delay) => sum + delay) / HOUR_MS).toBeCloseTo(7.71, 2);
  });

  it('spreads the retries of simultaneous failures', () => {
    expect(new Set(Array.from({ length: 50 }, () => retryDelayMs(1, transient, 1))).size).toBeGreaterThan(10);
  });

  it('is undefined after the ninth attempt and a permanent failure, even if the destination requests a delay', () => {
    for (const failure of [transient, throttled(HOUR_MS)]) {
      expect(retryDelayMs(8, failure, 1, noJitter)).toBe(4 * HOUR_MS);
      expect(retryDelayMs(9, failure, 1, noJitter)).toBeUndefined();
      expect(retryDelayMs(100, failure, 1, noJitter)).toBeUndefined();
    }
    expect(retryDelayMs(1, { ...throttled(HOUR_MS), result: 'permanent' }, 1, noJitter)).toBeUndefined();
  });

  it('is always the requested delay if the attempt does not count', () => {
    const uncounted = throttled(5 * SECOND_MS, { countsAsAttempt: false });
    for (const attempts of [0, 1, 8, 9, 50]) {
      expect(retryDelayMs(attempts, uncounted, 1, noJitter)).toBe(5 * SECOND_MS);
      expect(retryDelayMs(attempts, uncounted, 1, fullJitter)).toBe(6 * SECOND_MS);
    }
  });

  it('is multiplied by the scale, in whole milliseconds', () => {
    expect(retryDelayMs(1, transient, 0.01, noJitter)).toBe(50);
    expect(retryDelayMs(1, transient, 0.0001, fullJitter)).toBe(1);
    expect(retryDelayMs(8, throttled(HOUR_MS), 0.001, noJitter)).toBe(14_400);
    expect(retryDelayMs(1, throttled(HOUR_MS, { countsAsAttempt: false }), 0.5, noJitter)).toBe(HOUR_MS / 2);
  });
});

describe('internalErrorDelayMs', () => {
  it('doubles with each receive up to 90 s, and is 15 min after 30 receives', () => {
    expect([1, 2, 3, 6, 7, 30, 31, 100].map((receives) => internalErrorDelayMs(receives, 1) / SECOND_MS)).toEqual([
      2, 4, 8, 64, 90, 90, 900, 900,
    ]);
  });

  it('retries every two minutes for the first half hour, and adds up to 18 hours in 100 receives', () => {
    const delays = Array.from({ length: 100 }, (_, index) => internalErrorDelayMs(index + 1, 1));
    expect(Math.max(...delays.slice(0, 30))).toBeLessThan(2 * MINUTE_MS);
    expect(delays.slice(0, 30).reduce((sum, delay) => sum + delay)).toBeGreaterThan(30 * MINUTE_MS);
    expect(delays.reduce((sum, delay) => sum + delay) / HOUR_MS).toBeCloseTo(18.1, 1);
  });

  it('is multiplied by the scale, in whole milliseconds', () => {
    expect(internalErrorDelayMs(10, 0.01)).toBe(900);
    expect(internalErrorDelayMs(31, 0.01)).toBe(9_000);
    expect(internalErrorDelayMs(1, 0.0001)).toBe(1);
  });
});
