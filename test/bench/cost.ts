import { readFileSync } from 'node:fs';
import * as z from 'zod';
import {
  billOf,
  type MeasuredUnits,
  sum,
  type Usage,
  type UsageByBatch,
  usagePerEvent,
  writeMeasuredUnits,
} from '../../bin/cost/units.ts';
import { type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { senderName } from '../../shared/environment.ts';
import { startFunctions } from './support/functions.ts';
import type { Section } from './support/report.ts';
import { sqsBatch } from './support/sqs-batch.ts';

/** Assumed latencies of an AWS call within the region, and of a receiver. */
const LATENCIES = { awsLatencyMs: 5, receiverLatencyMs: 50 };
const BATCHES = 40;
/**
 * Batches before the measured ones, without latencies and without a limit on the CPU: V8 optimizes the code by its
 * executions. At a million events a month, an execution environment that Lambda keeps for two hours processes more than
 * 2,000 batches of one.
 */
const WARM_UP_BATCHES = 200;

const MILLION = 1_000_000;

/** The measured parts of a bill, without email and SMS. */
const BILL_PARTS = ['tables', 'queues', 'functions', 'logs'] as const;

const dollars = (amount: number): string => `$${amount.toFixed(2)}`;

const mean = (values: readonly number[]) => values.reduce((left, right) => left + right, 0) / values.length;

const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync('package.json', 'utf8')));

/**
 * Measures the dollars per million alarm events, from the AWS requests that the deployed bundles make, the items they
 * write, the bytes they log, and their time with the CPU share that they have on Lambda. Records the measured units for
 * `npm run cost`.
 */
export const benchCost = async (): Promise<Section> => {
  const { aws, receiver, functionNamed, start, stop } = await startFunctions({ isMetered: true });
  const times: string[] = [];

  const setLatencies = ({ awsLatencyMs, receiverLatencyMs }: typeof LATENCIES) =>
    Promise.all([aws.setLatency(awsLatencyMs), receiver.setLatency(receiverLatencyMs)]);

  const measureBatches = async (
    batchSize: number,
    types: readonly NotificationTypeId[],
    sender?: NotificationTypeId,
  ) => {
    const found = functionNamed(sender ? senderName(sender) : 'dispatch-alarm-events');
    const started = start(found, { isHeapLimited: true });
    const batch = { batchSize, types, isForDispatch: !sender, planSize: types.length };
    const run = (count: number) => started.invoke(Array.from({ length: count }, () => sqsBatch(batch)));
    await setLatencies({ awsLatencyMs: 0, receiverLatencyMs: 0 });
    await run(WARM_UP_BATCHES);
    await setLatencies(LATENCIES);
    started.limitCpu();
    await Promise.all([aws.counts(), receiver.counts()]);
    const invocations = await run(BATCHES);
    const [counts, { requests = 0 }] = await Promise.all([aws.counts(), receiver.counts()]);
    await started.stop();
    const messages = batchSize * BATCHES;
    const { SendRawEmail = 0, Publish = 0, sqsFairMessages = 0 } = counts;
    // Each delivery is sent once: by HTTP, SES, SNS, or to the queue of its type.
    const sentCount = requests + SendRawEmail + Publish + sqsFairMessages;
    const expected = messages * types.length;
    if (sentCount !== expected) throw new Error(`${found.name} sent ${sentCount} of ${expected} messages.`);
    // Lambda bills whole milliseconds. It logs only invocations that fail.
    const batchMs = mean(invocations.map(({ ms }) => Math.ceil(ms)));
    times.push(`${found.name}, ${types.length} × ${batchSize}: ${batchMs.toFixed(0)} ms`);
    const perBatch: Usage = {
      lambdaRequests: 1,
      // Lambda receives and deletes each batch.
      sqsRequests: 2,
      logBytes: mean(invocations.map(({ logBytes }) => logBytes)),
      lambdaGbSeconds: (batchMs / 1_000) * (found.memoryMb / 1_024),
    };
    return sum([counts, 1 / messages], [perBatch, 1 / batchSize]);
  };

  const measure = async (
    ...batch: [types: NotificationTypeId[], sender?: NotificationTypeId]
  ): Promise<UsageByBatch> => ({
    batchOf1: await measureBatches(1, ...batch),
    batchOf10: await measureBatches(10, ...batch),
  });

  try {
    const dispatch = {
      oneDestination: await measure(['webhook']),
      twoDestinations: await measure(['webhook', 'email']),
    };
    const senders: MeasuredUnits['senders'] = {};
    for (const type of notificationTypeIds) senders[type] = await measure([type], type);
    const date = new Date().toISOString().slice(0, 10);
    const measured: MeasuredUnits = { version, date, ...LATENCIES, dispatch, senders };
    writeMeasuredUnits(measured);
    return costSection(measured, times);
  } finally {
    stop();
  }
};

/** Returns the table of docs/benchmarks.md. */
export const costSection = (measured: MeasuredUnits, times: readonly string[]): Section => {
  const onlyWebhooks = new Map<NotificationTypeId, number>([['webhook', 1]]);
  const types = notificationTypeIds.filter((type) => measured.senders[type]);
  const mix = new Map(types.map((type) => [type, 1 / types.length]));
  const rows = [
    { name: 'one webhook each, batches of 10', batch: 10, shares: onlyWebhooks },
    { name: 'one webhook each, batches of 1', batch: 1, shares: onlyWebhooks },
    { name: 'a mix of all types, batches of 10', batch: 10, shares: mix },
  ].map(({ name, ...load }) => {
    const bill = billOf(sum([usagePerEvent(measured, { ...load, destinations: 1 }), MILLION]));
    const amounts = BILL_PARTS.map((part) => bill.get(part) ?? 0);
    const emailAndSms = bill.get('email and SMS');
    return [
      name,
      ...[...amounts, amounts.reduce((total, usd) => total + usd, 0)].map(dollars),
      emailAndSms === undefined ? '–' : dollars(emailAndSms),
    ];
  });
  return {
    title: 'Dollars per million alarm events with one notification each',
    columns: ['', ...BILL_PARTS, 'total', 'email and SMS'],
    rows,
    note: [
      `Receivers respond after ${measured.receiverLatencyMs} ms, AWS after ${measured.awsLatencyMs} ms.`,
      'Time is billed time with the CPU share of each function. Not included: the storage of records, transfer to the internet.',
      `Batches (destinations × messages): ${times.join('; ')}.`,
    ].join(' '),
  };
};
