import pLimit from 'p-limit';
import { type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { type FunctionName, senderName } from '../../shared/environment.ts';
import { firstEvent } from './support/first-event.ts';
import { startFunctions } from './support/functions.ts';
import type { Section } from './support/report.ts';
import { sqsBatch } from './support/sqs-batch.ts';
import { type WorstBatch, worstDeliveries, worstEvents } from './support/worst-batches.ts';

/** Each batch several times, because memory that is not yet collected adds up. */
const INVOCATIONS = 2;
/** Retries are gathered in batches of 100. */
const RETRIES = 100;
const CONCURRENCY = 4;
/** How much CPU time an alert may wait for those of another tenant in its batch. */
const MAX_NEIGHBOR_CPU_MS = 2_000;

/** The batches of a consumer of queues, and the memory that they must not reach. */
type Consumer = { name: FunctionName; ordinary: () => object; worst: readonly WorstBatch[]; maxMb: number };

const senderOf = (type: NotificationTypeId): Consumer => ({
  name: senderName(type),
  ordinary: () => sqsBatch({ batchSize: RETRIES, types: [type] }),
  worst: worstDeliveries(type),
  maxMb: 200,
});

const consumers: readonly Consumer[] = [
  {
    name: 'dispatch-alarm-events',
    ordinary: () => sqsBatch({ batchSize: 10, isForDispatch: true }),
    worst: worstEvents,
    maxMb: 400,
  },
  ...notificationTypeIds.map(senderOf),
];

/** A function with its first event only, or with a batch. */
type Case = { name: FunctionName; batch: string; create?: () => object; maxMb?: number };

const casesOf = (name: FunctionName): Case[] => {
  const first: Case = { name, batch: 'first event' };
  const consumer = consumers.find((each) => each.name === name);
  if (!consumer) return [first];
  const { ordinary, worst, maxMb } = consumer;
  return [
    first,
    { name, batch: 'ordinary', create: ordinary },
    ...worst.map(({ name: batch, create }) => ({ name, batch, create, maxMb })),
  ];
};

type Measured = { peakMb: number; neighborCpuMs: number };

const NO_MEMORY_LEFT: Measured = { peakMb: Number.POSITIVE_INFINITY, neighborCpuMs: Number.POSITIVE_INFINITY };

/**
 * Measures the memory of every function with its first event, and that of the consumers of queues with an ordinary
 * batch and with the worst ones, and how long an alert of another tenant in these waits.
 */
export const benchMemory = async (): Promise<Section> => {
  const { receiver, functions, functionNamed, start, stop } = await startFunctions();

  const measure = async (name: FunctionName, create?: () => object): Promise<Measured> => {
    const started = start(functionNamed(name), { isHeapLimited: true });
    try {
      const first = await started.invoke([firstEvent(name, receiver.url)]);
      if (!create) return { peakMb: first[0]?.peakMb ?? Number.NaN, neighborCpuMs: 0 };
      started.limitCpu();
      const invocations = await started.invoke(Array.from({ length: INVOCATIONS }, create));
      return {
        peakMb: invocations.at(-1)?.peakMb ?? Number.NaN,
        neighborCpuMs: Math.max(...invocations.map(({ neighborCpuMs = Number.POSITIVE_INFINITY }) => neighborCpuMs)),
      };
    } catch (error) {
      // So V8 ends a process without memory.
      if (error instanceof Error && error.message.includes('SIGABRT')) return NO_MEMORY_LEFT;
      throw error;
    } finally {
      await started.stop();
    }
  };

  // Each batch has a small share of the CPU and memory of its own, so they can run at the same time.
  const limit = pLimit(CONCURRENCY);
  const brokenBars: string[] = [];
  const measureRow = ({ name, batch, create, maxMb }: Case): Promise<string[]> =>
    limit(async () => {
      const { peakMb, neighborCpuMs } = await measure(name, create);
      if (maxMb !== undefined) {
        if (peakMb >= maxMb) brokenBars.push(`${name}, ${batch}: not below ${maxMb} MB`);
        if (neighborCpuMs > MAX_NEIGHBOR_CPU_MS)
          brokenBars.push(`${name}, ${batch}: the alert of another tenant waits for more than 2 s of CPU time`);
      }
      const row = [
        name,
        batch,
        String(functionNamed(name).memoryMb),
        Number.isFinite(peakMb) ? peakMb.toFixed(0) : 'out of memory',
        maxMb === undefined ? '' : Number.isFinite(neighborCpuMs) ? (neighborCpuMs / 1_000).toFixed(2) : 'not sent',
      ];
      process.stderr.write(`${row.join(' | ')}\n`);
      return row;
    });
  let rows: string[][];
  try {
    rows = await Promise.all(functions.flatMap(({ name }) => casesOf(name)).map(measureRow));
  } finally {
    stop();
  }
  return {
    title: 'Peak memory of each function',
    columns: ['function', 'batch', 'memory, MB', 'peak, MB', 'CPU until the alert of a neighbor, s'],
    rows,
    brokenBars,
    note:
      'An ordinary batch has 100 deliveries of 2.5 KB, that of dispatch 10 events. Batches run with the CPU share of the ' +
      'memory. Memory includes the pages of Node.js itself.',
  };
};
