import { describe, expect, it, vi } from 'vitest';
import { type Counter, createCounters, dailyCounter } from '../../shared/adapters/dynamodb/counters.ts';
import { type AttemptOutcome, failed } from '../../shared/domain/attempt-outcome.ts';
import { DAY_MS } from '../../shared/domain/time.ts';
import { createDailyLimit, createMessageLimits } from '../../shared/pipeline/daily-limit.ts';
import { useDatabase } from '../support/dynamodb.ts';

const { client } = useDatabase();

/** Creates a daily limit with an in-memory counter that, like the table, adds all or nothing. */
const setUp = (limit: number) => {
  const used = new Map<string, number>();
  const take = vi.fn(async ({ key: { pk } }: Counter, wanted: { amount: number; limit: number }) => {
    const sum = (used.get(pk) ?? 0) + wanted.amount;
    if (sum > wanted.limit) return false;
    used.set(pk, sum);
    return true;
  });
  const giveBack = vi.fn(async ({ key: { pk } }: Counter, amount: number) => {
    used.set(pk, (used.get(pk) ?? 0) - amount);
  });
  const clock = vi.fn(() => NOON_MS);
  const limits = (above?: 'summarize' | 'wait') =>
    createDailyLimit({ take, giveBack }, 'sms', async () => limit, { ...(above && { above }), clock });
  return { take, giveBack, clock, limits, dailyLimit: limits() };
};

const NOON_MS = Date.UTC(2026, 0, 1, 12);
const counterAtNoon = dailyCounter('sms', 'acme', NOON_MS);

const delivered: AttemptOutcome = { result: 'delivered', explanation: '' };
const send = async () => delivered;

const sendAndCount = async (dailyLimit: ReturnType<typeof createDailyLimit>, tenant: string, messages: number) => {
  const results = await Promise.all(Array.from({ length: messages }, () => dailyLimit(tenant, send)));
  return results.filter(({ result }) => result === 'delivered').length;
};

describe('the daily limit', () => {
  it('counts a batch within the limit in one write', async () => {
    const { dailyLimit, take } = setUp(100);
    expect(await sendAndCount(dailyLimit, 'acme', 10)).toBe(10);
    expect(take.mock.calls).toEqual([[counterAtNoon, { amount: 10, limit: 100 }]]);
  });

  it('returns a permanent failure with an explanation once it is reached', async () => {
    const { dailyLimit } = setUp(0);
    expect(await dailyLimit('acme', send)).toMatchObject({
      result: 'permanent',
      reason: 'tenant_limit_exceeded',
      explanation: expect.stringContaining('limit of 0'),
    });
  });

  it.each([
    ['throttled by SES', failed('throttled', 'throttled', '', { nothingSent: true })],
    ['rejected for its address', failed('permanent', 'rejected', '', { nothingSent: true })],
  ])('gives a message that is %s back to the day on which it was counted', async (_, outcome) => {
    const { dailyLimit, giveBack, clock } = setUp(1);
    const sendLate = async () => {
      clock.mockReturnValue(NOON_MS + DAY_MS);
      return outcome;
    };
    expect(await dailyLimit('acme', sendLate)).toBe(outcome);
    expect(giveBack.mock.calls).toEqual([[counterAtNoon, 1]]);
  });
});

it('a summary above the daily limit fails if the limit is 0, which forbids the type', async () => {
  expect(await setUp(0).limits('wait')('acme', send)).toMatchObject({ result: 'permanent' });
});

it.each([
  [10, 0, false],
  [11, 0, true],
  [0, 11, true],
])(
  'a tenant is near its daily limit if more than half of 20 is used, for alerts or for summaries: %s, %s',
  async (alerts, summaries, expected) => {
    const counters = createCounters(client, 'accounts');
    const tenant = `near-${alerts}-${summaries}`;
    if (alerts > 0) await counters.take(dailyCounter('email', tenant, Date.now()), { amount: alerts, limit: 20 });
    if (summaries > 0)
      await counters.take(dailyCounter('email_summaries', tenant, Date.now()), { amount: summaries, limit: 20 });
    const { isNearLimit } = createMessageLimits(counters, 'email', async () => 20);
    expect(await isNearLimit(tenant)).toBe(expected);
  },
);
