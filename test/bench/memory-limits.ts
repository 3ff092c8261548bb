import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { type FunctionName, senderName } from '../../shared/environment.ts';
import { buildSandbox, startSandbox } from './memory/start-sandbox.ts';
import { startChild } from './support/child.ts';
import { type DeployedFunction, deployedFunctions } from './support/deployed.ts';
import type { Section } from './support/report.ts';
import { type BatchOptions, sqsBatch } from './support/sqs-batch.ts';

/*
 * Whether a function has enough memory and CPU for its largest inputs, at each size of memory. The deployed bundles run
 * in processes with the CPU share and memory of each size.
 */

const MEMORY_MB = [128, 192, 256, 384, 512];
/** Each input several times, because memory that is not yet collected adds up. */
const INVOCATIONS = 3;
/** The timeout of the functions. */
const TIMEOUT_SECONDS = 30;
const KILOBYTE = 1_024;

/** Lambda limits the messages of a batch to 6 MB in total. Their attributes count, and JSON escapes them once more. */
const BATCH_BYTES = 5.5 * KILOBYTE * KILOBYTE;
/** Ten zones make up an event. */
const zoneBytes = (messages: number): number => Math.floor(BATCH_BYTES / messages / 10);

type Case = { title: string; name: FunctionName; batch: BatchOptions };

const dispatchCase = (title: string, batch: Omit<BatchOptions, 'typeIndex'>): Case => ({
  title,
  name: 'dispatch-alarm-events',
  batch: { ...batch, isForDispatch: true, typeIndex: String(notificationTypeIds.indexOf('webhook')) },
});

const cases: Case[] = [
  dispatchCase('10 events of 350 KB for 10,000 notifications', {
    batchSize: 10,
    planSize: 10_000,
    zoneBytes: 6 * KILOBYTE,
  }),
  dispatchCase('6 events of 900 KB for 10,000 notifications', {
    batchSize: 6,
    planSize: 10_000,
    zoneBytes: 61 * KILOBYTE,
  }),
  ...notificationTypeIds.flatMap((type): Case[] => {
    const typeIndex = String(notificationTypeIds.indexOf(type));
    return [
      ...[10, 100].map((batchSize) => ({
        title: `${batchSize} deliveries of ${(BATCH_BYTES / batchSize / KILOBYTE).toFixed(0)} KB`,
        name: senderName(type),
        batch: { batchSize, typeIndex, zoneBytes: zoneBytes(batchSize) },
      })),
    ];
  }),
];

const succeeded = z.object({ batchItemFailures: z.tuple([]) });

/** Returns the peak memory and the longest time, or how the process ended. */
const measure = async (runner: string, found: DeployedFunction, { batch }: Case): Promise<string> => {
  const sandbox = await startSandbox(runner, found);
  try {
    let [peakMb, seconds] = [0, 0];
    for (let round = 0; round < INVOCATIONS; round++) {
      const invocation = await sandbox.invoke(sqsBatch(batch));
      if (!succeeded.safeParse(invocation.result).success) return `failed: ${JSON.stringify(invocation.result)}`;
      peakMb = Math.max(peakMb, invocation.peakMb);
      seconds = Math.max(seconds, invocation.ms / 1_000);
    }
    const result = `${peakMb.toFixed(0)} MB, ${seconds.toFixed(1)} s`;
    return seconds > TIMEOUT_SECONDS ? `**timeout** (${result})` : result;
  } catch (error) {
    return `**${error instanceof Error ? error.message : 'failed'}**`;
  } finally {
    await sandbox.stop();
  }
};

/** Runs the benchmark. @throws Error where CPU and memory cannot be limited */
export const benchMemoryLimits = async (): Promise<Section[]> => {
  const directory = mkdtempSync(join(tmpdir(), 'bench-memory-limits-'));
  const runner = buildSandbox(directory);
  const sink = await startChild('./counting-sink.ts');
  const aws = await startChild('./aws-stub.ts', { destination: sink.url, latencyMs: 5 });
  const { functions, remove } = deployedFunctions(aws.url, {
    egressAllow: '127.0.0.0/8',
    smsPerTenantPerDay: '1000000',
    managedPerTenantPerDay: '1000000',
    emailsPerTenantPerDay: '1000000',
    pagerEndpoint: sink.url,
    routerEndpoint: sink.url,
    feedEndpoint: sink.url,
  });
  const rows: string[][] = [];
  try {
    for (const each of cases) {
      const found = functions.find(({ name }) => name === each.name);
      if (!found) throw new Error(`There is no function ${each.name}.`);
      const cells: string[] = [];
      for (const memoryMb of MEMORY_MB) {
        cells.push(
          `${await measure(runner, { ...found, memoryMb }, each)}${memoryMb === found.memoryMb ? ' (default)' : ''}`,
        );
      }
      rows.push([each.name, each.title, ...cells]);
    }
  } finally {
    remove();
    sink.stop();
    aws.stop();
    rmSync(directory, { recursive: true, force: true });
  }
  return [
    {
      title: 'The largest inputs of a function: peak memory and time',
      columns: ['function', 'input', ...MEMORY_MB.map((memoryMb) => `${memoryMb} MB`)],
      rows,
      note: `The largest of ${INVOCATIONS} invocations of one process. Memory includes the pages of Node.js itself.`,
    },
  ];
};
