import { describe, expect, it } from 'vitest';
import {
  billOf,
  idleUsage,
  type Load,
  type MeasuredUnits,
  monthlyUsage,
  readMeasuredUnits,
  usagePerEvent,
} from '../../bin/cost/units.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { costSection } from '../bench/cost.ts';
import { toMarkdown } from '../bench/support/report.ts';
import { readDocument } from '../support/documents.ts';
import { synthesize } from '../support/stack.ts';

const measured: MeasuredUnits = {
  version: '1.0.0',
  date: '2026-11-22',
  awsLatencyMs: 5,
  receiverLatencyMs: 50,
  dispatch: {
    oneDestination: { batchOf1: { sqsRequests: 100 }, batchOf10: { sqsRequests: 10 } },
    twoDestinations: { batchOf1: { sqsRequests: 130 }, batchOf10: { sqsRequests: 13 } },
  },
  senders: {
    webhook: { batchOf1: { sqsRequests: 1_000 }, batchOf10: { sqsRequests: 100 } },
    email: { batchOf1: { sqsRequests: 2_000, emails: 1 }, batchOf10: { sqsRequests: 200, emails: 1 } },
  },
};
const oneWebhook: Load = { destinations: 1, batch: 1, shares: new Map([['webhook', 1]]) };

/** The types beyond the eight of the interface: each has two queues with pollers, and an alarm reads its age. */
const MORE_TYPES = notificationTypeIds.length - 8;

const templateOf = (settings = {}): unknown => synthesize(settings).template.toJSON();
const template = templateOf();
const totalOf = (bill: ReadonlyMap<string, number>): number => [...bill.values()].reduce((sum, usd) => sum + usd, 0);
const idleBillOf = (settings = {}) => billOf(idleUsage(templateOf(settings)));

describe('the usage of an event', () => {
  it.each<[string, Partial<Load>, number]>([
    ['of the producer, of dispatch and of the sender', {}, 1 + 100 + 1_000],
    ['of a full batch', { batch: 10 }, 1 + 10 + 100],
    ['of half of it by batches of two', { batch: 2 }, 1 + 50 + 500],
    ['of destinations by the cost of the second', { destinations: 1.4 }, 1 + 112 + 1_400],
    [
      'weighted by the shares of the types',
      { shares: new Map([['webhook', 0.75] as const, ['email', 0.25] as const]) },
      1 + 100 + 1_250,
    ],
  ])('is that %s', (_, load, expected) => {
    expect(usagePerEvent(measured, { ...oneWebhook, ...load }).sqsRequests).toBeCloseTo(expected);
  });

  it('is unknown for a type that has not been measured', () => {
    const load: Load = { ...oneWebhook, shares: new Map([['sms', 1]]) };
    expect(() => usagePerEvent(measured, load)).toThrow('npm run bench cost');
  });
});

describe('the bill of a month', () => {
  const billed = (events: number, load: Partial<Load> = {}, of = template) =>
    billOf(monthlyUsage(measured, { ...oneWebhook, ...load }, events, of));

  it('is that of an idle stack without events', () => {
    expect(billed(0)).toEqual(billOf(idleUsage(template)));
  });

  it('has the requests and records of all events, the metrics and the idle stack once', () => {
    const [one, two] = [billed(1e6), billed(2e6)];
    expect(one.get('queues')).toBeCloseTo(1_101 * 0.4 + 0.1);
    // 632 bytes, and 100 that DynamoDB adds to each item.
    expect(one.get('records')).toBeCloseTo(0.33, 2);
    expect(one.get('transfer')).toBeCloseTo(0.36, 2);
    for (const part of ['queues', 'records', 'transfer'] as const)
      expect(two.get(part)).toBeCloseTo(2 * (one.get(part) ?? 0));
    for (const part of ['metrics', 'idle: polling', 'idle: dashboard'] as const)
      expect(two.get(part)).toBe(one.get(part));
  });

  it('has $2.87 per million outcomes and $2.46 per million email events, less in full batches, and none without them', () => {
    const published = templateOf({ deliveryOutcomes: 'true' });
    const emails: Partial<Load> = { shares: new Map([['email', 1]]) };
    expect(billed(1e6, {}, published).get('outcomes')).toBeCloseTo(2.87, 2);
    expect(billed(1e6, { batch: 10 }, published).get('outcomes')).toBeCloseTo(0.377, 3);
    expect(billed(1e6, emails).get('email events')).toBeCloseTo(2.46, 2);
    expect(billed(1e6, { ...emails, batch: 10 }).get('email events')).toBeCloseTo(1.26, 2);
    expect([billed(1e6).get('outcomes'), billed(1e6).get('email events')]).toEqual([undefined, undefined]);
  });
});

describe('the idle bill', () => {
  it('is at most $13.25 a month by default for eight types, with 39 alarm metrics and one rule', () => {
    const bill = idleBillOf();
    expect(totalOf(bill)).toBeLessThanOrEqual(13.25 + MORE_TYPES * 0.65);
    expect(Object.fromEntries(bill)).toEqual({
      // 18 queues with 5 pollers each and one with 2, which wait 20 s. Polls of the stream are free.
      'idle: polling': expect.closeTo(4.77 + MORE_TYPES * 0.518, 2),
      'idle: alarms': expect.closeTo(3.9 + MORE_TYPES * 0.1),
      'idle: dashboard': 3,
      'idle: Contributor Insights': 0.5,
      'idle: keys': 1,
      'idle: schedules': expect.closeTo(0, 2),
    });
  });

  it('is at most $2.10 a month for a development stage, which only polls', () => {
    const bill = idleBillOf({ developmentStage: true });
    expect(totalOf(bill)).toBeLessThanOrEqual(2.1 + MORE_TYPES * 0.21);
    expect(Object.fromEntries(bill)).toEqual({
      // 19 queues with 2 pollers each.
      'idle: polling': expect.closeTo(1.97 + MORE_TYPES * 0.207, 2),
    });
  });

  it('is that of docs/operations.md', () => {
    const text = readDocument('docs/operations.md');
    for (const [name, settings] of [
      ['by default', {}],
      ['with `developmentStage`', { developmentStage: true }],
    ] as const)
      expect(text).toContain(`$${totalOf(idleBillOf(settings)).toFixed(2)} ${name}`);
  });

  it.each([
    ['$73 a month more with static egress: two NAT gateways and two public addresses', { egress: 'static' }, 73],
    ['$0.16 more with a heartbeat every five minutes', { heartbeatUrl: 'https://monitor.example.org' }, 0.16],
  ])('is %s', (_, settings, usd) => {
    expect(totalOf(idleBillOf(settings)) - totalOf(idleBillOf())).toBeCloseTo(usd, 2);
  });

  it('fails for a schedule without a price', () => {
    const Schedule = { Type: 'AWS::Scheduler::Schedule', Properties: { ScheduleExpression: 'rate(1 minute)' } };
    expect(() => idleUsage({ Resources: { Schedule } })).toThrow('rate(1 minute)');
  });
});

it('the recorded measurement is that of docs/benchmarks.md', () => {
  const [, table] = toMarkdown(costSection(readMeasuredUnits(), [])).split('\n\n');
  expect(readDocument('docs/benchmarks.md')).toContain(table);
});
