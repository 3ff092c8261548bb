import { afterEach, describe, expect, it, vi } from 'vitest';
import { createEmailStops } from '../../../shared/adapters/accounts/email-stops.ts';
import { logger } from '../../../shared/adapters/logger.ts';
import { DAY_MS } from '../../../shared/domain/time.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { countRequests } from '../../support/dynamodb-faults.ts';
import { testClock } from '../../support/test-clock.ts';

const HOUR_MS = 3_600_000;
const START_MS = Date.parse('2026-01-01T12:00:00Z');

const { client, connect } = useDatabase();
afterEach(() => void vi.restoreAllMocks());

let count = 0;

const setUp = () => {
  vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
  const { clock, wait } = testClock(START_MS);
  const recipient = { tenant: `stops-${++count}`, address: 'oncall@example.com' };
  const stops = createEmailStops(client, 'accounts', clock);
  const audit = () => ({ Put: { TableName: 'audits', Item: { pk: 'audit', sk: `entry-${clock()}` } } });
  return {
    recipient,
    stops,
    audit,
    now: clock,
    wait,
    find: () => stops.find(recipient),
  };
};

describe('a bounce', () => {
  it('stops a mailbox for a day, and a bounce meanwhile changes nothing', async () => {
    const { recipient, stops, wait, find } = setUp();
    await stops.bounce(recipient, START_MS - 1);
    wait(HOUR_MS);
    await stops.bounce(recipient, START_MS + HOUR_MS);
    expect(await find()).toEqual({ reason: 'bounced', sinceMs: START_MS, untilMs: START_MS + DAY_MS });
    wait(23 * HOUR_MS - 1);
    expect(await find()).toBeDefined();
    wait(1);
    expect(await find()).toBeUndefined();
    expect(logger.warn).toHaveBeenCalledOnce();
  });

  it.each([
    ['a day if the email was sent before an earlier stop ended: not at all', -1, 1, undefined],
    ['seven days if it was sent after that', 0, 1, 7 * DAY_MS],
    ['seven days within 30 days of that end', 29 * DAY_MS, 29 * DAY_MS, 7 * DAY_MS],
    ['a day after that', 31 * DAY_MS, 31 * DAY_MS, DAY_MS],
  ])('stops it for %s', async (_, sentMs, reportedMs, lengthMs) => {
    const { recipient, stops, now, wait, find } = setUp();
    await stops.bounce(recipient, START_MS);
    wait(DAY_MS + reportedMs);
    await stops.bounce(recipient, START_MS + DAY_MS + sentMs);
    if (lengthMs === undefined) expect(await find()).toBeUndefined();
    else {
      expect(await find()).toEqual({ reason: 'bounced', sinceMs: now(), untilMs: now() + lengthMs });
      wait(lengthMs - 1);
      expect(await find()).toBeDefined();
      wait(1);
      expect(await find()).toBeUndefined();
    }
  });

  it('permits a test again that is given back, unless there was another one meanwhile', async () => {
    const { recipient, stops, wait } = setUp();
    await stops.bounce(recipient, START_MS);
    const claim = () => stops.claimTest(recipient, START_MS);
    await claim();
    await stops.giveBackTest(recipient, START_MS);
    expect(await claim()).toBe(START_MS);
    wait(HOUR_MS);
    await claim();
    await stops.giveBackTest(recipient, START_MS);
    expect(await claim()).toBeUndefined();
  });

  it('ends when an email that was sent in spite of it is delivered, and no later one does', async () => {
    const { recipient, stops, wait, find, now } = setUp();
    await stops.bounce(recipient, START_MS);
    wait(HOUR_MS);
    await stops.endBounce(recipient, START_MS - 1);
    expect(await find()).toBeDefined();
    await stops.endBounce(recipient, START_MS);
    expect(await find()).toBeUndefined();
    // The bounce of an email that was sent before.
    await stops.bounce(recipient, START_MS + 1);
    expect(await find()).toBeUndefined();
    wait(1);
    await stops.bounce(recipient, now());
    const sinceMs = now();
    await stops.endBounce(recipient, START_MS);
    expect(await find()).toMatchObject({ reason: 'bounced', sinceMs });
  });
});

it('a resume by an operator takes none of the ten that the recipient has on a UTC day', async () => {
  const { recipient, stops, audit, wait } = setUp();
  const resume = async (by: 'resume' | 'resumeByOperator') => {
    wait(1_000);
    await stops.optOut(recipient, audit);
    return stops[by](recipient, audit);
  };
  for (let time = 0; time < 9; time++) expect(await resume('resume')).toBe('resumed');
  expect(await resume('resumeByOperator')).toBe(true);
  expect(await resume('resume')).toBe('resumed');
  expect(await resume('resume')).toBe('limited');
  expect(await resume('resumeByOperator')).toBe(true);
  wait(DAY_MS);
  expect(await resume('resumeByOperator')).toBe(true);
  expect(await resume('resume')).toBe('resumed');
});

it('two stops at the same time are both stored', async () => {
  const { recipient, stops, audit, find } = setUp();
  await Promise.all([
    stops.optOut(recipient, audit),
    stops.bounce(recipient, START_MS),
    stops.complain(recipient, START_MS),
  ]);
  expect(await find()).toEqual({ reason: 'opted_out', sinceMs: START_MS });
  await stops.resume(recipient, audit);
  expect(await find()).toMatchObject({ reason: 'bounced' });
});

it('a stop is of a mailbox, however its address is written', async () => {
  const { recipient, stops, audit } = setUp();
  await stops.optOut({ ...recipient, address: 'v@gmail.com' }, audit);
  for (const address of ['V+1@gmail.com', 'v.@googlemail.com', '.v@GMAIL.com'])
    expect(await stops.find({ ...recipient, address })).toMatchObject({ reason: 'opted_out' });
  for (const address of ['w@gmail.com', 'v@example.com'])
    expect(await stops.find({ ...recipient, address })).toBeUndefined();
});

it('finds the stops of many addresses, of which some share a mailbox, with one request per 100 mailboxes', async () => {
  const { recipient, audit, stops: writer } = setUp();
  await writer.optOut({ ...recipient, address: 'v@example.com' }, audit);
  await writer.bounce({ ...recipient, address: 'w@example.com' }, START_MS);
  const database = connect();
  const requests = countRequests(database);
  const others = Array.from({ length: 98 }, (_, number) => `${number}@example.com`);
  const stops = createEmailStops(database, 'accounts', () => START_MS);
  const stopOf = await stops.findAll(recipient.tenant, [
    'v@example.com',
    'V+1@example.com',
    'w@example.com',
    ...others,
  ]);
  expect(stopOf('v@example.com')).toEqual({ reason: 'opted_out', sinceMs: START_MS });
  expect(stopOf('V+1@example.com')).toEqual({ reason: 'opted_out', sinceMs: START_MS });
  expect(stopOf('w@example.com')).toMatchObject({ reason: 'bounced', sinceMs: START_MS });
  expect(others.map(stopOf)).toEqual(others.map(() => undefined));
  expect(requests).toEqual({ BatchGetItemCommand: 1 });
});
