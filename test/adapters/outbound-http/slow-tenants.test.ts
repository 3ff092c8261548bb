import { describe, expect, it } from 'vitest';
import { createSlowTenants } from '../../../shared/adapters/outbound-http/circuit-breaker.ts';
import { RequestTimeoutError } from '../../../shared/adapters/outbound-http/http-client.ts';
import { testClock } from '../../support/test-clock.ts';

/** @param random the random number that extends the slow state: by default not at all */
const setUp = (random = 0) => {
  const { clock, wait: advance } = testClock(1_000_000_000);
  const tenants = createSlowTenants(clock, () => random);
  /** Sends at the same time. Each takes `durationMs`, then responds, or fails with the error. */
  const send = async (tenant: string, count: number, durationMs: number, error?: Error) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const sends = Array.from({ length: count }, () => tenants.watch(tenant, () => promise));
    advance(durationMs);
    if (error) reject(error);
    else resolve('response');
    for (const result of await Promise.allSettled(sends)) {
      expect(result).toEqual(
        error ? { status: 'rejected', reason: error } : { status: 'fulfilled', value: 'response' },
      );
    }
  };
  return {
    ...tenants,
    advance,
    answer: (tenant: string, count = 1, durationMs = 10) => send(tenant, count, durationMs),
    fail: (tenant: string, count: number, durationMs: number) => send(tenant, count, durationMs, new Error('failed')),
    timeOut: (tenant: string, count = 1) => send(tenant, count, 15_000, new RequestTimeoutError()),
  };
};

describe('a tenant', () => {
  it('is slow after five timeouts, for 30 s, and no other tenant is', async () => {
    const { isSlow, timeOut, advance } = setUp();
    await timeOut('a', 4);
    expect(isSlow('a')).toBe(false);
    await timeOut('a');
    expect([isSlow('a'), isSlow('b')]).toEqual([true, false]);
    advance(29_000);
    expect(isSlow('a')).toBe(true);
    advance(1_000);
    expect(isSlow('a')).toBe(false);
  });

  it('is not slow if timeouts are more than 30 s apart', async () => {
    const { isSlow, timeOut, advance } = setUp();
    await timeOut('a', 4);
    advance(15_000);
    await timeOut('a', 4);
    expect(isSlow('a')).toBe(false);
  });

  it('is not slow while it answers at least as often as it times out', async () => {
    const { isSlow, timeOut, answer } = setUp();
    await answer('a', 4);
    await timeOut('a', 5);
    expect(isSlow('a')).toBe(true);
    await answer('a');
    expect(isSlow('a')).toBe(false);
    await timeOut('a');
    expect(isSlow('a')).toBe(true);
  });

  it.each([
    ['an answer after more than 5 s counts as a timeout', 5_001, true],
    ['an answer after 5 s does not', 5_000, false],
  ])('that is always late is slow: %s', async (_, durationMs, expected) => {
    const { isSlow, answer } = setUp();
    await answer('a', 5, durationMs);
    expect(isSlow('a')).toBe(expected);
  });

  it('is slow if its connections fail late, and not if they fail early', async () => {
    const { isSlow, fail } = setUp();
    await fail('early', 5, 100);
    await fail('late', 5, 14_000);
    expect([isSlow('early'), isSlow('late')]).toEqual([false, true]);
  });

  it('stays slow for up to 90 s more at random, until it answers', async () => {
    const { isSlow, timeOut, answer, advance } = setUp(0.5);
    await timeOut('a', 5);
    advance(74_999);
    expect(isSlow('a')).toBe(true);
    advance(1);
    expect(isSlow('a')).toBe(false);
    await timeOut('a', 5);
    advance(40_000);
    await answer('a');
    expect(isSlow('a')).toBe(false);
  });

  it('stays slow however many other tenants send, time out and become slow', async () => {
    const { isSlow, timeOut, answer, advance } = setUp();
    await timeOut('a', 5);
    for (let count = 0; count < 2_000; count++) await answer(`b${count}`, 1, 0);
    await timeOut('c', 100);
    advance(10_000);
    expect(isSlow('a')).toBe(true);
    expect([isSlow('b1'), isSlow('d')]).toEqual([false, false]);
  });
});
