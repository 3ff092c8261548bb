import { describe, expect, it } from 'vitest';
import { duplicateCause } from './duplicates.ts';

const failure = { timestamp_ms: 1_000, duration_ms: 200, result: 'transient' };
const timeout = { timestamp_ms: 1_000, duration_ms: 15_080, result: 'transient' };
const delivered = { timestamp_ms: 50_000, duration_ms: 200, result: 'delivered' };

const cause = (
  firstAtMs: number,
  attempts: Parameters<typeof duplicateCause>[1],
  killsMs: readonly number[] = [],
  secondAtMs = 100_000,
) => duplicateCause({ firstAtMs, secondAtMs }, attempts, killsMs);

describe('the cause of a duplicate', () => {
  it('is a timeout if the alert is accepted after the sender stopped waiting, even if a worker was killed', () => {
    expect(cause(17_500, [timeout, delivered])).toBe('timeout');
    expect(cause(17_500, [timeout, delivered], [17_600])).toBe('timeout');
  });

  it('is a timeout if the alert is accepted while the sender waits and the response is too late', () => {
    expect(cause(2_000, [timeout, delivered])).toBe('timeout');
  });

  it('is a timeout if the request that timed out arrives during or after a later attempt', () => {
    const retried = { timestamp_ms: 20_000, duration_ms: 5_000, result: 'delivered' };
    expect(cause(23_000, [timeout, retried], [], 24_900)).toBe('timeout');
    expect(cause(22_000, [timeout, retried], [], 26_000)).toBe('timeout');
    expect(cause(26_000, [timeout, { ...retried, result: 'transient' }, delivered])).toBe('timeout');
  });

  it('is a kill if no failed attempt on record covers the time and a worker was killed', () => {
    expect(cause(1_000, [delivered], [1_100])).toBe('kill');
    expect(cause(40_000, [timeout, delivered], [40_100])).toBe('kill');
  });

  it('is a kill if the alert is sent again right after a failed attempt and that worker is killed', () => {
    expect(cause(1_230, [failure, delivered], [1_300])).toBe('kill');
  });

  it('is a kill if the request of a killed worker arrives after the delivery on record', () => {
    expect(cause(50_100, [delivered], [49_000], 50_200)).toBe('kill');
  });

  it('is unexplained if the worker recorded a failure although the destination accepted the alert in time', () => {
    expect(cause(1_100, [failure, delivered], [1_200])).toBe('unexplained');
  });

  it('is unexplained if the alert is sent again long after the kill that followed its delivery', () => {
    expect(cause(50_100, [delivered], [50_300], 90_000)).toBe('unexplained');
  });

  it('is unexplained if two deliveries are on record, even if a worker was killed', () => {
    const redelivered = { ...delivered, timestamp_ms: 90_000 };
    expect(cause(50_100, [failure, delivered, redelivered], [90_000], 90_100)).toBe('unexplained');
  });

  it('is unexplained if no worker was killed and no attempt timed out', () => {
    expect(cause(1_000, [delivered])).toBe('unexplained');
    expect(cause(50_100, [delivered])).toBe('unexplained');
  });
});
