import { describe, expect, it, vi } from 'vitest';
import { createDailyLimit } from '../../shared/pipeline/daily-limit.ts';

/** A counter in memory, as the table keeps it: adds all or nothing. */
const setUp = (limit: number) => {
  const used = new Map<string, number>();
  const count = vi.fn(async (_counter: string, tenant: string, amount: number, most: number) => {
    const sum = (used.get(tenant) ?? 0) + amount;
    if (sum > most) return false;
    used.set(tenant, sum);
    return true;
  });
  return { count, dailyLimit: createDailyLimit({ count }, 'sms', limit) };
};

const send = async (dailyLimit: ReturnType<typeof createDailyLimit>, tenant: string, messages: number) => {
  const failures = await Promise.all(Array.from({ length: messages }, () => dailyLimit(tenant)));
  return failures.filter((failure) => failure === undefined).length;
};

describe('a daily limit of messages', () => {
  it('lets through what is within it, and a batch in one count', async () => {
    const { dailyLimit, count } = setUp(100);
    expect(await send(dailyLimit, 'acme', 10)).toBe(10);
    expect(count.mock.calls).toEqual([['sms', 'acme', 10, 100]]);
  });

  it('lets through exactly what still fits of a batch', async () => {
    const { dailyLimit } = setUp(7);
    expect(await send(dailyLimit, 'acme', 10)).toBe(7);
    expect(await send(dailyLimit, 'acme', 1)).toBe(0);
  });

  it('is each tenant’s own', async () => {
    const { dailyLimit } = setUp(1);
    expect(await Promise.all([send(dailyLimit, 'acme', 2), send(dailyLimit, 'other', 1)])).toEqual([1, 1]);
  });

  it('is permanent once it is reached, and says why', async () => {
    const { dailyLimit } = setUp(0);
    expect(await dailyLimit('acme')).toMatchObject({
      result: 'permanent',
      reason: 'tenant_limit_exceeded',
      explanation: expect.stringContaining('limit of 0'),
    });
  });

  it('fails, and lets nothing through, where it cannot be counted', async () => {
    const dailyLimit = createDailyLimit({ count: () => Promise.reject(new Error('no table')) }, 'sms', 10);
    const sent = await Promise.allSettled([dailyLimit('acme'), dailyLimit('acme')]);
    expect(sent.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
