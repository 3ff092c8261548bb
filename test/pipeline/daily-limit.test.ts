import { describe, expect, it, vi } from 'vitest';
import { createDailyLimit } from '../../shared/pipeline/daily-limit.ts';

/** Creates a daily limit with an in-memory counter that, like the table, adds all or nothing. */
const setUp = (limit: number) => {
  const used = new Map<string, number>();
  const count = vi.fn(async (_counter: string, tenant: string, amount: number, maxTotal: number) => {
    const sum = (used.get(tenant) ?? 0) + amount;
    if (sum > maxTotal) return false;
    used.set(tenant, sum);
    return true;
  });
  return { count, dailyLimit: createDailyLimit({ count }, 'sms', async () => limit) };
};

const sendAndCount = async (dailyLimit: ReturnType<typeof createDailyLimit>, tenant: string, messages: number) => {
  const results = await Promise.all(Array.from({ length: messages }, () => dailyLimit(tenant)));
  return results.filter((failure) => failure === undefined).length;
};

describe('the daily limit', () => {
  it('counts a batch within the limit in one write', async () => {
    const { dailyLimit, count } = setUp(100);
    expect(await sendAndCount(dailyLimit, 'acme', 10)).toBe(10);
    expect(count.mock.calls).toEqual([['sms', 'acme', 10, 100]]);
  });

  it('allows the part of a batch that is within the limit', async () => {
    const { dailyLimit } = setUp(7);
    expect(await sendAndCount(dailyLimit, 'acme', 10)).toBe(7);
    expect(await sendAndCount(dailyLimit, 'acme', 1)).toBe(0);
  });

  it('applies to each tenant separately', async () => {
    const { dailyLimit } = setUp(1);
    expect(await Promise.all([sendAndCount(dailyLimit, 'acme', 2), sendAndCount(dailyLimit, 'other', 1)])).toEqual([
      1, 1,
    ]);
  });

  it('returns a permanent failure with an explanation once it is reached', async () => {
    const { dailyLimit } = setUp(0);
    expect(await dailyLimit('acme')).toMatchObject({
      result: 'permanent',
      reason: 'tenant_limit_exceeded',
      explanation: expect.stringContaining('limit of 0'),
    });
  });

  it('throws if messages cannot be counted', async () => {
    const count = () => Promise.reject(new Error('no response'));
    const dailyLimit = createDailyLimit({ count }, 'sms', async () => 10);
    const results = await Promise.allSettled([dailyLimit('acme'), dailyLimit('acme')]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
