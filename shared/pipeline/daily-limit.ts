import { lru } from 'tiny-lru';
import type { LimitOf } from '../adapters/accounts/account-repository.ts';
import { type Counters, dailyCounter, type MessageCounter } from '../adapters/dynamodb/counters.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import { type AttemptOutcome, type Failure, failed } from '../domain/attempt-outcome.ts';
import { createGatherer } from '../domain/gather.ts';
import { MAX_NOTICE_MESSAGES_PER_DAY } from '../domain/notice.ts';
import type { Clock } from '../domain/time.ts';
import { secondsToNextDay, utcDay } from '../domain/time.ts';
import type { Alert } from '../domain/transport.ts';

/** Sends a message within a daily limit, or fails. What was certainly not sent (`nothingSent`) does not count. */
export type DailyLimit = (tenant: string, send: () => Promise<AttemptOutcome>) => Promise<AttemptOutcome>;

/** Messages of a tenant within this time are counted by one write. */
const GATHER_MS = 2;

/** Messages that wait for the next day are tried again within this time, in case the limit is raised. */
const MAX_WAIT_MS = 3_600_000;

/** What happens to messages above a limit. If the limit is 0, which forbids them, they fail. */
type AboveLimit = 'fail' | 'summarize' | 'wait';

const failureAbove = (above: AboveLimit, nowMs: number): Partial<Failure> => {
  if (above === 'fail') return {};
  if (above === 'summarize') return { canBeSummarized: true };
  const retryAfterMs = Math.min(secondsToNextDay(nowMs) * 1000, MAX_WAIT_MS);
  return { result: 'throttled', countsAsAttempt: false, retryAfterMs };
};

type Reserved = { tenant: string; timeMs: number };

/**
 * Limits the messages of a tenant per UTC day (docs/decisions/deliveries.md#limits-against-abuse). One is reserved
 * before it is sent, so that the limit is never exceeded, and given back to the same day if AWS rejected it.
 */
export const createDailyLimit = (
  counters: Pick<Counters, 'take' | 'giveBack'>,
  name: MessageCounter,
  limitOf: LimitOf,
  { above = 'fail', clock = Date.now }: { above?: AboveLimit; clock?: Clock } = {},
): DailyLimit => {
  const afterGathering = (close: () => void) => setTimeout(close, GATHER_MS);

  const count = async (tenant: string, amount: number, limit: number): Promise<number | undefined> => {
    const timeMs = clock();
    return (await counters.take(dailyCounter(name, tenant, timeMs), { amount, limit })) ? timeMs : undefined;
  };

  const gatherCounts = createGatherer(
    (limits: readonly number[], tenant: string) => count(tenant, limits.length, Math.min(...limits)),
    afterGathering,
  );

  const gatherReturns = createGatherer(async (reserved: readonly Reserved[]) => {
    const [first] = reserved;
    if (first) await counters.giveBack(dailyCounter(name, first.tenant, first.timeMs), reserved.length);
  }, afterGathering);

  /** A message that cannot be given back counts: the limit is only reached earlier. */
  const giveBack = async (reserved: Reserved): Promise<void> => {
    try {
      await gatherReturns(`${utcDay(reserved.timeMs)} ${reserved.tenant}`, reserved).result;
    } catch (error) {
      logger.warn('message not given back', { tenant_id: reserved.tenant, counter: name, ...errorTrace(error) });
    }
  };

  return async (tenant, send) => {
    const limit = await limitOf(tenant);
    const { values, result } = gatherCounts(tenant, limit);
    // If the whole group exceeds the limit, some of its messages may still be within it.
    const timeMs = (await result) ?? (values.length > 1 ? await count(tenant, 1, limit) : undefined);
    if (timeMs === undefined) {
      const explanation = `The account's limit of ${limit} messages a day is reached (${name})`;
      const failure = failed('permanent', 'tenant_limit_exceeded', explanation);
      return limit === 0 ? failure : { ...failure, ...failureAbove(above, clock()) };
    }
    const outcome = await send();
    if (outcome.result !== 'delivered' && outcome.nothingSent) await giveBack({ tenant, timeMs });
    return outcome;
  };
};

/** The daily limits of a type: of alerts, of notices, and of summaries, so that none uses up the limit of another. */
export type MessageLimits = { alerts: DailyLimit; notices: DailyLimit; summaries: DailyLimit };

export const limitOfAlert = ({ alerts, notices, summaries }: MessageLimits, { notice }: Alert): DailyLimit => {
  if (!notice) return alerts;
  return notice.kind === 'summary' ? summaries : notices;
};

const CACHE_SIZE = 1_000;

const CACHE_MS = 60_000;

/** Of a type that is summarized above its limit (docs/decisions/deliveries.md#summaries). */
export const createMessageLimits = (counters: Counters, type: 'email' | 'sms', limitOf: LimitOf) => {
  const limits: MessageLimits = {
    alerts: createDailyLimit(counters, type, limitOf, { above: 'summarize' }),
    notices: createDailyLimit(counters, `${type}_notices`, async () => MAX_NOTICE_MESSAGES_PER_DAY[type]),
    summaries: createDailyLimit(counters, `${type}_summaries`, limitOf, { above: 'wait' }),
  };
  const cache = lru<Promise<boolean>>(CACHE_SIZE, CACHE_MS);
  const readIsNearLimit = async (tenant: string): Promise<boolean> => {
    const nowMs = Date.now();
    const both = [dailyCounter(type, tenant, nowMs), dailyCounter(`${type}_summaries`, tenant, nowMs)];
    const [limit, taken] = await Promise.all([limitOf(tenant), counters.read(both)]);
    return both.some((counter) => taken(counter).used > limit / 2);
  };
  return {
    limits,
    /** Returns whether a tenant has used more than half of its limit for alerts or summaries, cached for a minute. */
    isNearLimit: (tenant: string): Promise<boolean> => {
      const cached = cache.get(tenant);
      if (cached) return cached;
      const read = readIsNearLimit(tenant);
      cache.set(tenant, read);
      read.catch(() => cache.delete(tenant));
      return read;
    },
  };
};
