import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createAccountRepository } from '../../../shared/adapters/accounts/account-repository.ts';
import { createDailyCounters } from '../../../shared/adapters/accounts/daily-counter.ts';
import { createEmailReputation } from '../../../shared/adapters/accounts/email-reputation.ts';
import type { PauseReason } from '../../../shared/contracts/email-pause.ts';
import { audit } from '../../support/audit.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { countRequests } from '../../support/dynamodb-faults.ts';

const { client, connect } = useDatabase();

const START = Date.UTC(2026, 0, 2, 10, 30);
const HOUR_MS = 3_600_000;

const setUp = (database = client) => {
  let nowMs = START;
  const clock = (): number => nowMs;
  const tenant = `tenant-${randomUUID()}`;
  const reputation = createEmailReputation(database, 'accounts', clock);
  const counters = createDailyCounters(database, 'accounts', clock);
  const report = (reason: PauseReason, of = tenant, messageId: string = randomUUID(), sentAtMs = nowMs) =>
    reputation.report(of, reason, { messageId, sentAtMs, reportedAtMs: nowMs });
  return {
    tenant,
    report,
    advance: (ms: number) => {
      nowMs += ms;
    },
    now: clock,
    send: (amount: number, counter: 'email' | 'email_notices' | 'email_summaries' = 'email') =>
      counters.count(counter, tenant, amount, 1_000_000),
    /** Reports several emails. @returns the last result */
    async reportMany(reason: PauseReason, times: number) {
      for (let count = 1; count < times; count++) await report(reason);
      return report(reason);
    },
    resume: () => reputation.resume(tenant, audit),
    // A new execution environment, whose cache is empty.
    isPaused: (of = tenant) => createAccountRepository(database, 'accounts', clock).isEmailPaused(of),
  };
};

describe('the emails of a tenant', () => {
  it('are paused by the bounce that makes them too many, once', async () => {
    const { send, reportMany, report, isPaused, tenant } = setUp();
    await send(100);
    expect(await reportMany('bounces', 5)).toBeUndefined();
    expect(await isPaused()).toBe(false);
    const pause = { since_ms: START, reason: 'bounces', count: 6, emails: 100 };
    expect(await report('bounces')).toEqual({ pause, isNew: true });
    expect(await report('complaints')).toEqual({ pause, isNew: false });
    expect(await isPaused()).toBe(true);
    const { emailPause } = await createAccountRepository(client, 'accounts').describe(tenant);
    expect(emailPause).toEqual(pause);
  });

  it('are paused by the third complaint', async () => {
    const { send, reportMany } = setUp();
    await send(2_000);
    expect(await reportMany('complaints', 3)).toMatchObject({ pause: { reason: 'complaints', count: 3 } });
  });

  it('include notices and summaries', async () => {
    const { send, reportMany } = setUp();
    await send(40);
    await send(30, 'email_notices');
    await send(30, 'email_summaries');
    expect(await reportMany('bounces', 5)).toBeUndefined();
  });

  it('count as one bounce each, however often and late it is reported', async () => {
    const { send, reportMany, report, tenant, advance } = setUp();
    await send(10);
    await reportMany('bounces', 3);
    for (let time = 0; time < 3; time++) {
      expect(await report('bounces', tenant, 'the same')).toBeUndefined();
      advance(HOUR_MS);
    }
    expect(await report('bounces')).toMatchObject({ pause: { count: 5 } });
  });

  it('count for 24 hours, across midnight', async () => {
    const { send, reportMany, report, advance } = setUp();
    await reportMany('bounces', 4);
    await send(1_000);
    advance(23 * HOUR_MS);
    expect(await report('bounces')).toBeUndefined();
    advance(HOUR_MS);
    // Those of the first hour, and its emails, are over.
    await send(10);
    expect(await reportMany('bounces', 3)).toBeUndefined();
    expect(await report('bounces')).toMatchObject({ pause: { count: 5, emails: 10 } });
  });

  it('do not count for another tenant', async () => {
    const first = setUp();
    const second = setUp();
    await first.reportMany('bounces', 4);
    await first.report('bounces', second.tenant);
    expect([await first.isPaused(), await second.isPaused()]).toEqual([false, false]);
    await first.report('bounces');
    expect([await first.isPaused(), await second.isPaused()]).toEqual([true, false]);
  });

  it('need one read and one write, two reads of counts, and one write of the pause', async () => {
    const database = connect();
    const counts = countRequests(database);
    await setUp(database).reportMany('complaints', 3);
    expect(counts).toEqual({ GetItemCommand: 3, UpdateItemCommand: 4, BatchGetItemCommand: 6 });
  });
});

describe('the end of a pause', () => {
  it('lets the counts start anew, also within the hour', async () => {
    const { send, reportMany, report, resume, isPaused, advance, tenant, now } = setUp();
    await send(100);
    await reportMany('bounces', 6);
    advance(1_000);
    expect(await resume()).toBe(true);
    expect(await isPaused()).toBe(false);
    const sentBeforeMs = now() - 500;
    advance(1_000);
    // Late reports about emails that were sent before, and then those about new ones.
    for (let time = 0; time < 10; time++)
      expect(await report('bounces', tenant, `late${time}`, sentBeforeMs)).toBeUndefined();
    await send(20);
    expect(await reportMany('bounces', 4)).toBeUndefined();
    expect(await report('bounces')).toEqual({
      pause: { since_ms: now(), reason: 'bounces', count: 5, emails: 20 },
      isNew: true,
    });
  });

  it('is refused if there is none', async () => {
    expect(await setUp().resume()).toBe(false);
  });
});
