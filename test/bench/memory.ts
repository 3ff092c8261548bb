import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import type { FunctionName } from '../../shared/environment.ts';
import { firstEvent } from './cold-start/first-event.ts';
import { PRICES } from './cost/prices.ts';
import { MB_PER_VCPU } from './memory/limits.ts';
import { buildSandbox, type Sandbox, startSandbox } from './memory/start-sandbox.ts';
import { startChild } from './support/child.ts';
import { deployedFunctions } from './support/deployed.ts';
import { median, type Section } from './support/report.ts';
import { type BatchOptions, sqsBatch } from './support/sqs-batch.ts';

/*
 * What the memory of a function changes: the time of its batches, its cold start and what both cost. The deployed
 * bundles run in processes with the CPU share and memory of each size.
 */

const MEMORY_MB = [128, 192, 256, 384, 512, 768, 1_024];
const BATCHES = 40;
const WARM_UP_BATCHES = 100;
const COLD_STARTS = 7;
/** Assumed latency of an AWS call within the region, and of a receiver. */
const [AWS_LATENCY_MS, RECEIVER_LATENCY_MS] = [5, 50];

const SENDER = 'send-webhook';
const DISPATCH = 'dispatch-alarm-events';
const API = 'get-notification';
const typeIndex = String(notificationTypeIds.indexOf('webhook'));

const batchOf = (name: FunctionName, batchSize: number): BatchOptions => ({
  batchSize,
  typeIndex,
  isForDispatch: name === DISPATCH,
});

/** Lambda bills whole milliseconds. */
const billedMs = (times: readonly number[]): number => times.reduce((sum, ms) => sum + Math.ceil(ms), 0) / times.length;

const dollarsPerMillion = (ms: number, memoryMb: number): number =>
  1e6 * (ms / 1_000) * (memoryMb / 1_024) * PRICES.lambdaGbSecond;

const REQUESTS = 1e6 * PRICES.lambdaRequest;

/** Measures batches of a warm function. @returns the billed ms of a batch, and the peak memory */
const measureBatches = async (sandbox: Sandbox, options: BatchOptions) => {
  sandbox.limitCpu(false);
  for (let batch = 0; batch < WARM_UP_BATCHES; batch++) await sandbox.invoke(sqsBatch({ ...options }));
  sandbox.limitCpu(true);
  const invocations = [];
  for (let batch = 0; batch < BATCHES; batch++) invocations.push(await sandbox.invoke(sqsBatch(options)));
  return {
    ms: billedMs(invocations.map(({ ms }) => ms)),
    peakMb: Math.max(...invocations.map(({ peakMb }) => peakMb)),
  };
};

/** Starts the deployed functions with an AWS stub and a receiver. */
const startFunctions = async () => {
  const directory = mkdtempSync(join(tmpdir(), 'bench-memory-'));
  const runner = buildSandbox(directory);
  const sink = await startChild('./counting-sink.ts', { delayMs: RECEIVER_LATENCY_MS });
  const aws = await startChild('./aws-stub.ts', { destination: sink.url, latencyMs: AWS_LATENCY_MS });
  const { functions, remove } = deployedFunctions(aws.url, { egressAllow: '127.0.0.0/8' });

  const start = (name: FunctionName, memoryMb: number): Promise<Sandbox> => {
    const found = functions.find((each) => each.name === name);
    if (!found) throw new Error(`There is no function ${name}.`);
    return startSandbox(runner, { ...found, memoryMb });
  };

  /** Measures warm batches of one and of ten. */
  const warm = async (name: FunctionName, memoryMb: number) => {
    const sandbox = await start(name, memoryMb);
    const ten = await measureBatches(sandbox, batchOf(name, 10));
    const one = await measureBatches(sandbox, batchOf(name, 1));
    await sandbox.stop();
    return { one, ten };
  };

  /** Measures a cold start: the initialization at full CPU, and the first invocation at the function's share. */
  const cold = async (name: FunctionName, memoryMb: number) => {
    const [inits, firsts]: [number[], number[]] = [[], []];
    for (let round = 0; round < COLD_STARTS; round++) {
      const sandbox = await start(name, memoryMb);
      inits.push(sandbox.initMs);
      firsts.push((await sandbox.invoke(firstEvent(name, sink.url))).ms);
      await sandbox.stop();
    }
    return { initMs: median(inits), firstMs: median(firsts) };
  };

  const stop = () => {
    remove();
    sink.stop();
    aws.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  return { warm, cold, stop };
};

const dollars = (amount: number): string => `$${amount.toFixed(2)}`;
const ms = (amount: number): string => amount.toFixed(0);

/** Runs the benchmark. @throws Error where CPU and memory cannot be limited */
export const benchMemory = async (): Promise<Section[]> => {
  const { warm, cold, stop } = await startFunctions();
  const warmRows: string[][] = [];
  const coldRows: string[][] = [];
  try {
    for (const memoryMb of MEMORY_MB) {
      const [dispatch, sender] = [await warm(DISPATCH, memoryMb), await warm(SENDER, memoryMb)];
      const ofTime = (batchMs: number) => dollarsPerMillion(batchMs, memoryMb);
      warmRows.push([
        `${memoryMb} MB`,
        (memoryMb / MB_PER_VCPU).toFixed(2),
        ms(dispatch.one.ms),
        ms(dispatch.ten.ms),
        ms(sender.one.ms),
        ms(sender.ten.ms),
        dollars(ofTime(dispatch.one.ms)),
        dollars(ofTime(sender.one.ms)),
        dollars(ofTime(dispatch.one.ms) + ofTime(sender.one.ms) + 2 * REQUESTS),
        dollars((ofTime(dispatch.ten.ms) + ofTime(sender.ten.ms) + 2 * REQUESTS) / 10),
        ms(Math.max(dispatch.ten.peakMb, dispatch.one.peakMb)),
        ms(Math.max(sender.ten.peakMb, sender.one.peakMb)),
      ]);
      const starts = [await cold(DISPATCH, memoryMb), await cold(SENDER, memoryMb), await cold(API, memoryMb)] as const;
      const [dispatchStart, senderStart] = starts;
      const startMs = [dispatchStart, senderStart].reduce(
        (sum, { initMs, firstMs }) => sum + Math.ceil(initMs + firstMs),
        0,
      );
      coldRows.push([
        `${memoryMb} MB`,
        ...starts.map(({ initMs, firstMs }) => `${ms(initMs)} + ${ms(firstMs)}`),
        dollars(ofTime(startMs)),
      ]);
    }
  } finally {
    stop();
  }
  return [
    {
      title: 'Memory: batches of a warm function, and dollars per million webhooks',
      columns: [
        'memory',
        'vCPU',
        'dispatch, 1: ms',
        '10: ms',
        'sender, 1: ms',
        '10: ms',
        'time of dispatch, 1',
        'time of the sender, 1',
        'functions, batches of 1',
        'batches of 10',
        'dispatch, peak MB',
        'sender, peak MB',
      ],
      rows: warmRows,
      note: [
        `${BATCHES} batches of each, means of billed ms. Receivers respond after ${RECEIVER_LATENCY_MS} ms, AWS after`,
        `${AWS_LATENCY_MS} ms. "functions" includes $0.20 per million invocations; tables, queues and logs do not depend on`,
        'the memory.',
      ].join(' '),
    },
    {
      title: 'Memory: cold starts, ms of initialization + ms of the first invocation',
      columns: ['memory', DISPATCH, SENDER, API, 'dollars per million events that start dispatch and a sender'],
      rows: coldRows,
      note: `Medians of ${COLD_STARTS} processes. Initialization has full CPU at every size, and is billed since August 2025.`,
    },
  ];
};
