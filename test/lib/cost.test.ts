import { describe, expect, it } from 'vitest';
import { type MeasuredUnits, readMeasuredUnits } from '../../bin/cost/measured-units.ts';
import { monthlyBill } from '../../bin/cost/monthly-bill.ts';
import { sum, type Units } from '../../bin/cost/units.ts';
import { usagePerEvent } from '../../bin/cost/usage.ts';
import { costSection } from '../bench/cost.ts';
import { toMarkdown } from '../bench/support/report.ts';
import { readDocument } from '../support/documents.ts';
import { synthesize } from '../support/stack.ts';

/** Units of which only requests to SQS matter here. */
const requests = (sqsRequests: number): Units => sum([{ sqsRequests }, 1]);
const measured: MeasuredUnits = {
  version: '1.0.0',
  date: '2026-11-22',
  awsLatencyMs: 5,
  receiverLatencyMs: 50,
  dispatch: {
    oneDestination: { batchOf1: requests(100), batchOf10: requests(10) },
    twoDestinations: { batchOf1: requests(130), batchOf10: requests(13) },
  },
  senders: {
    webhook: { batchOf1: requests(1_000), batchOf10: requests(100) },
    email: { batchOf1: requests(2_000), batchOf10: requests(200) },
  },
};
const webhooks = new Map([['webhook', 1]] as const);
const mix = new Map([['webhook', 0.75] as const, ['email', 0.25] as const]);

describe('the usage of an event', () => {
  const requestsOf = (load: {
    destinations?: number;
    batch?: number;
    shares?: ReadonlyMap<'webhook' | 'email' | 'sms', number>;
  }) => usagePerEvent(measured, { destinations: 1, batch: 1, shares: webhooks, ...load }).sqsRequests;

  it.each([
    ['of the producer, of dispatch and of the sender', {}, 1 + 100 + 1_000],
    ['of a full batch', { batch: 10 }, 1 + 10 + 100],
    ['of half of it by batches of two', { batch: 2 }, 1 + 50 + 500],
    ['of destinations by the cost of the second', { destinations: 1.4 }, 1 + 112 + 1_400],
    ['weighted by the shares of the types', { shares: mix }, 1 + 100 + 1_250],
  ])('is that %s', (_, load, expected) => {
    expect(requestsOf(load)).toBeCloseTo(expected);
  });

  it('is unknown for a type that has not been measured', () => {
    expect(() => requestsOf({ shares: new Map([['sms', 1]]) })).toThrow('npm run bench cost');
  });
});

describe('the bill of a month', () => {
  const template = synthesize().template.toJSON();
  const billed = (events: number) =>
    new Map(
      monthlyBill(measured, { events, destinations: 1, batch: 1, shares: webhooks }, template).map(({ part, usd }) => [
        part,
        usd,
      ]),
    );

  it('is that of an idle stack without events', () => {
    const parts = [...billed(0)].filter(([, usd]) => usd > 0);
    expect(parts).toEqual([['idle stack', expect.any(Number)]]);
  });

  it('has the requests and records of all events, the metrics and the idle stack once', () => {
    const [one, two] = [billed(1e6), billed(2e6)];
    expect(one.get('queues')).toBeCloseTo(1_101 * 0.4 + 0.1);
    // 632 bytes, and 100 that DynamoDB adds to each item.
    expect(one.get('records')).toBeCloseTo(0.33, 2);
    expect(one.get('transfer')).toBeCloseTo(0.36, 2);
    for (const part of ['queues', 'records', 'transfer']) expect(two.get(part)).toBeCloseTo(2 * (one.get(part) ?? 0));
    for (const part of ['metrics', 'idle stack']) expect(two.get(part)).toBe(one.get(part));
  });
});

describe('the bill of delivery outcomes', () => {
  it('is $1.03 per million, a tenth in full batches, and none without the setting', () => {
    const load = { events: 1e6, destinations: 1, shares: webhooks };
    const outcomesOf = (template: unknown, batch: number) =>
      monthlyBill(measured, { ...load, batch }, template).find(({ part }) => part === 'outcomes')?.usd;
    const published = synthesize({ deliveryOutcomes: 'true' }).template.toJSON();
    expect(outcomesOf(published, 1)).toBeCloseTo(1.03, 2);
    expect(outcomesOf(published, 10)).toBeCloseTo(0.103, 3);
    expect(outcomesOf(synthesize().template.toJSON(), 1)).toBeUndefined();
  });
});

describe('the recorded measurement', () => {
  it('is that of docs/benchmarks.md', () => {
    const [, table] = toMarkdown(costSection(readMeasuredUnits(), [])).split('\n\n');
    expect(readDocument('docs/benchmarks.md')).toContain(table);
  });
});
