import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { startLocalStack } from '../../bin/local/stack.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { type FunctionName, senderName } from '../../shared/environment.ts';
import { prepareApiCases } from './memory/api-cases.ts';
import { buildSandbox, startSandbox } from './memory/start-sandbox.ts';
import { startChild } from './support/child.ts';
import { type DeployedFunction, deployedFunctions } from './support/deployed.ts';
import type { Section } from './support/report.ts';
import { type BatchOptions, sqsBatch } from './support/sqs-batch.ts';

/*
 * Whether a function has enough memory and CPU for its largest inputs, at each size of memory. The deployed bundles run
 * in processes with the CPU share and memory of each size.
 */

const MEMORY_MB = [128, 256, 512];
/** Each input several times, because memory that is not yet collected adds up. */
const INVOCATIONS = 2;
/** The timeout of the functions. */
const TIMEOUT_SECONDS = 30;
const KILOBYTE = 1_024;

/** Lambda limits the messages of a batch to 6 MB in total. Their attributes count, and JSON escapes them once more. */
const BATCH_BYTES = 5.5 * KILOBYTE * KILOBYTE;
/** Ten zones make up an event. */
const zoneBytes = (messages: number): number => Math.floor(BATCH_BYTES / messages / 10);

/** An input of a function: creates its event, and the schema of the expected result. */
type Case = { title: string; name: FunctionName; event: () => Promise<unknown>; result: z.ZodType };

const succeeded = z.object({ batchItemFailures: z.tuple([]) });

const batchCase = (title: string, name: FunctionName, batch: BatchOptions): Case => ({
  title,
  name,
  event: async () => sqsBatch(batch),
  result: succeeded,
});

const dispatchCase = (title: string, batch: Omit<BatchOptions, 'typeIndex'>): Case => {
  const typeIndex = String(notificationTypeIds.indexOf('webhook'));
  return batchCase(title, 'dispatch-alarm-events', { ...batch, isForDispatch: true, typeIndex });
};

/** Six events of 880 KB full of long numbers in front of four small ones. */
const heavyCase: Case = {
  title: '6 events of 880 KB full of numbers, and 4 small events',
  name: 'dispatch-alarm-events',
  event: async () => ({
    Records: [{ batchSize: 6, isNumeric: true, zoneBytes: 80_000 }, { batchSize: 4 }].flatMap(
      (batch) =>
        sqsBatch({ ...batch, isForDispatch: true, typeIndex: String(notificationTypeIds.indexOf('webhook')) }).Records,
    ),
  }),
  result: succeeded,
};

const batchCases: Case[] = [
  heavyCase,
  dispatchCase('10 events of 350 KB for 10,000 notifications', {
    batchSize: 10,
    planSize: 10_000,
    zoneBytes: 6 * KILOBYTE,
  }),
  dispatchCase('6 events of 900 KB for 10,000 notifications', {
    batchSize: 6,
    planSize: 10_000,
    zoneBytes: 59 * KILOBYTE,
  }),
  ...notificationTypeIds.flatMap((type) =>
    [10, 100].map((batchSize) =>
      batchCase(`${batchSize} deliveries of ${(BATCH_BYTES / batchSize / KILOBYTE).toFixed(0)} KB`, senderName(type), {
        batchSize,
        typeIndex: String(notificationTypeIds.indexOf(type)),
        zoneBytes: zoneBytes(batchSize),
      }),
    ),
  ),
];

/** Returns the peak memory and the longest time, or how the process ended. */
const measure = async (runner: string, found: DeployedFunction, { event, result: expected }: Case): Promise<string> => {
  const sandbox = await startSandbox(runner, found);
  try {
    let [peakMb, seconds] = [0, 0];
    for (let round = 0; round < INVOCATIONS; round++) {
      const invocation = await sandbox.invoke(await event());
      if (!expected.safeParse(invocation.result).success)
        return `**failed**: ${JSON.stringify(invocation.result).slice(0, 200)}`;
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

/** Measures each case at each size. */
const rowsOf = async (
  runner: string,
  functions: readonly DeployedFunction[],
  cases: readonly Case[],
): Promise<string[][]> => {
  const rows: string[][] = [];
  for (const each of cases) {
    const found = functions.find(({ name }) => name === each.name);
    if (!found) throw new Error(`There is no function ${each.name}.`);
    const cells: string[] = [];
    for (const memoryMb of MEMORY_MB) {
      const cell = await measure(runner, { ...found, memoryMb }, each);
      cells.push(memoryMb === found.memoryMb ? `${cell} (default)` : cell);
    }
    rows.push([each.name, each.title, ...cells]);
  }
  return rows;
};

/** Measures the consumers of queues with an AWS stub. */
const measureBatches = async (runner: string): Promise<string[][]> => {
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
  try {
    return await rowsOf(runner, functions, batchCases);
  } finally {
    remove();
    sink.stop();
    aws.stop();
  }
};

/** Measures the API with the tables and queues of a local stack. */
const measureApi = async (runner: string): Promise<string[][]> => {
  const stack = await startLocalStack({});
  const { functions, remove } = deployedFunctions(stack.ready.aws_endpoint, {});
  try {
    return await rowsOf(runner, functions, await prepareApiCases(stack));
  } finally {
    remove();
    await stack.stop();
  }
};

/** Runs the benchmark. @throws Error where CPU and memory cannot be limited */
export const benchMemoryLimits = async (): Promise<Section[]> => {
  const directory = mkdtempSync(join(tmpdir(), 'bench-memory-limits-'));
  const runner = buildSandbox(directory);
  try {
    return [
      {
        title: 'The largest inputs of a function: peak memory and time',
        columns: ['function', 'input', ...MEMORY_MB.map((memoryMb) => `${memoryMb} MB`)],
        rows: [...(await measureApi(runner)), ...(await measureBatches(runner))],
        note: `The largest of ${INVOCATIONS} invocations of one process. Memory includes the pages of Node.js itself.`,
      },
    ];
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};
