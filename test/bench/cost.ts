import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { type FunctionName, senderName } from '../../shared/environment.ts';
import { firstEvent } from './cold-start/first-event.ts';
import { stackedBars } from './cost/chart.ts';
import { measureFailedDelivery } from './cost/failed-delivery.ts';
import { floorUnits, PRODUCER, SQS_REQUESTS_PER_BATCH } from './cost/floor.ts';
import { type Bill, billPerMillion, PRICES, sum, total, type Units } from './cost/prices.ts';
import { canLimit, MB_PER_VCPU } from './memory/limits.ts';
import type { Invocation } from './memory/sandbox.ts';
import { buildSandbox, type Sandbox, startSandbox, startUnlimited } from './memory/start-sandbox.ts';
import { startChild } from './support/child.ts';
import { type DeployedFunction, deployedFunctions } from './support/deployed.ts';
import { median, type Section } from './support/report.ts';
import { sqsBatch } from './support/sqs-batch.ts';

/*
 * Dollars per million alarm events, from the AWS requests that the deployed bundles make, the items they write, the
 * bytes they log, and their time with the CPU share and memory that they have on Lambda.
 */

/** The START, END and REPORT lines that Lambda logs for an invocation, if the function's system log level is INFO. */
const INVOCATION_LOG_BYTES = 320;
/** Assumed latency of an AWS call within the region. */
const AWS_LATENCY_MS = 5;
/** Assumed latency of a receiver. */
const RECEIVER_LATENCY_MS = 50;
const SLOW_RECEIVER_LATENCY_MS = 14_500;

const SETTINGS = {
  egressAllow: '127.0.0.0/8',
  smsPerTenantPerDay: '1000000',
  managedPerTenantPerDay: '1000000',
  emailsPerTenantPerDay: '1000000',
};

/** Rare events: every function is stopped before the next one arrives. */
const RARE_EVENTS_PER_MONTH = 730;
const COLD_STARTS = 7;
const BATCHES = 40;
/**
 * At a million events a month, an execution environment that Lambda keeps for two hours processes more than 2,000
 * batches of one.
 */
const WARM_UP_BATCHES = 200;

/** A function, and the batches it receives. */
type Load = {
  name: FunctionName;
  type: NotificationTypeId;
  batchSize: number;
  batches: number;
  /** Batches before the measured ones, without a limit on the CPU. */
  warmUpBatches?: number;
};

const WARM = { batches: BATCHES, warmUpBatches: WARM_UP_BATCHES };

/** The average units of a message, and the average billed time and CPU time of a batch. */
type Measured = { units: Units; batchMs: number; cpuMs: number; memoryMb: number };

/** Whether functions run with the CPU share of their memory. Otherwise, their time is computed from their CPU time. */
const isLimited = canLimit();

/** Returns the time of an invocation on Lambda, which bills whole milliseconds. */
const billedMs = ({ ms, cpuMs }: Pick<Invocation, 'ms' | 'cpuMs'>, memoryMb: number): number => {
  const scaledMs = Math.max(ms - cpuMs, 0) + cpuMs * Math.max(1, MB_PER_VCPU / memoryMb);
  return Math.ceil(isLimited ? ms : scaledMs);
};
const gigabytes = (memoryMb: number): number => memoryMb / 1_024;

/** Starts the deployed functions with an AWS stub and a receiver. */
const startFunctions = async (receiverLatencyMs: number) => {
  const directory = mkdtempSync(join(tmpdir(), 'bench-cost-'));
  const sink = await startChild('./counting-sink.ts', { delayMs: receiverLatencyMs });
  const aws = await startChild('./aws-stub.ts', { destination: sink.url, latencyMs: AWS_LATENCY_MS, metered: true });
  const { functions, logsInvocations, remove } = deployedFunctions(aws.url, {
    ...SETTINGS,
    pagerEndpoint: sink.url,
    routerEndpoint: sink.url,
    feedEndpoint: sink.url,
  });

  const runner = buildSandbox(directory);
  const start = (found: DeployedFunction): Promise<Sandbox> =>
    isLimited ? startSandbox(runner, found) : startUnlimited(runner, found);
  const platformLogBytes = logsInvocations ? INVOCATION_LOG_BYTES : 0;

  const functionNamed = (name: FunctionName): DeployedFunction => {
    const found = functions.find((each) => each.name === name);
    if (!found) throw new Error(`There is no function ${name}.`);
    return found;
  };

  /** Measures the average units per message of a function. */
  const measureLoad = async ({ name, type, batchSize, batches, warmUpBatches = 0 }: Load): Promise<Measured> => {
    const found = functionNamed(name);
    const sandbox = await start(found);
    const options = {
      batchSize,
      typeIndex: String(notificationTypeIds.indexOf(type)),
      isForDispatch: name === 'dispatch-alarm-events',
    };
    const run = async (times: number): Promise<Invocation[]> => {
      const invocations: Invocation[] = [];
      while (invocations.length < times) invocations.push(await sandbox.invoke(sqsBatch(options)));
      return invocations;
    };
    sandbox.limitCpu(false);
    await run(warmUpBatches);
    sandbox.limitCpu(true);
    await aws.counts();
    await sink.counts();
    const invocations = await run(batches);
    const counts = await aws.counts();
    await sandbox.stop();
    const messages = batchSize * batches;
    const { requests = 0 } = await sink.counts();
    const { SendEmail = 0, Publish = 0, sqsFairMessages = 0 } = counts;
    // Each message is sent once: by HTTP, SES, SNS, or to the queue of its type.
    const sentCount = requests + SendEmail + Publish + sqsFairMessages;
    if (sentCount !== messages) throw new Error(`${name} sent ${sentCount} of ${messages} messages.`);
    const mean = (amountOf: (invocation: Invocation) => number) =>
      invocations.reduce((total, invocation) => total + amountOf(invocation), 0) / batches;
    const { memoryMb } = found;
    const batchMs = mean((invocation) => billedMs(invocation, memoryMb));
    const perBatch: Partial<Units> = {
      lambdaRequests: 1,
      sqsRequests: SQS_REQUESTS_PER_BATCH,
      logBytes: platformLogBytes + mean(({ logBytes }) => logBytes),
      lambdaGbSeconds: (batchMs / 1_000) * gigabytes(memoryMb),
    };
    return {
      units: sum([counts, 1 / messages], [perBatch, 1 / batchSize]),
      batchMs,
      cpuMs: mean(({ cpuMs }) => cpuMs),
      memoryMb,
    };
  };

  /** Measures the GB-seconds of a cold start: its initialization at full CPU, and its first batch, of one message. */
  const measureColdStart = async (name: FunctionName): Promise<number> => {
    const found = functionNamed(name);
    const times: number[] = [];
    for (let round = 0; round < COLD_STARTS; round++) {
      const sandbox = await start(found);
      const first = await sandbox.invoke(firstEvent(name, sink.url));
      await sandbox.stop();
      times.push(Math.ceil(sandbox.initMs) + billedMs(first, found.memoryMb));
    }
    return (median(times) / 1_000) * gigabytes(found.memoryMb);
  };

  const stop = () => {
    remove();
    sink.stop();
    aws.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  return { measureLoad, measureColdStart, platformLogBytes, stop };
};

/** Measures dispatch per event, and the sender of each type per delivery. */
const measure = async () => {
  const { measureLoad, measureColdStart, platformLogBytes, stop } = await startFunctions(RECEIVER_LATENCY_MS);
  const dispatch = (batchSize: number) =>
    measureLoad({ name: 'dispatch-alarm-events', type: 'webhook', batchSize, ...WARM });
  const send = (type: NotificationTypeId, batchSize: number) =>
    measureLoad({ name: senderName(type), type, batchSize, ...WARM });
  try {
    const tens = { dispatch: await dispatch(10), sender: await send('webhook', 10) };
    const ones = { dispatch: await dispatch(1), sender: await send('webhook', 1) };
    const types: Units[] = [];
    for (const type of notificationTypeIds) types.push((await send(type, 10)).units);
    const coldStartGbSeconds =
      (await measureColdStart('dispatch-alarm-events')) + (await measureColdStart('send-webhook'));
    return { tens, ones, types, coldStartGbSeconds, platformLogBytes };
  } finally {
    stop();
  }
};

const measureSlow = async (): Promise<Units> => {
  const { measureLoad, stop } = await startFunctions(SLOW_RECEIVER_LATENCY_MS);
  try {
    return (await measureLoad({ name: 'send-webhook', type: 'webhook', batchSize: 10, batches: 2 })).units;
  } finally {
    stop();
  }
};

const dollars = (amount: number): string => `$${amount.toFixed(2)}`;

type Path = { dispatch: Measured; sender: Measured };

const unitsOf = ({ dispatch, sender }: Path): Units => sum([PRODUCER, 1], [dispatch.units, 1], [sender.units, 1]);

const milliseconds = ({ batchMs }: Measured): string => `${batchMs.toFixed(0)} ms`;

/** Returns the dollars per million that the CPU time of a path would cost alone, at any memory up to one vCPU. */
const cpuDollars = (batchSize: number, { dispatch, sender }: Path): number =>
  (1e6 * ((dispatch.cpuMs + sender.cpuMs) / 1_000) * gigabytes(MB_PER_VCPU) * PRICES.lambdaGbSecond) / batchSize;

/** Compares the cost of a webhook with the requests that the design requires. */
const partsSection = (paths: readonly [batchSize: number, path: Path][]): Section => ({
  title: 'What one webhook each consists of, in dollars per million',
  columns: ['', 'tables', 'queues', 'invocations', 'time', 'logs', 'total', 'CPU time alone'],
  rows: [...paths.flatMap(partsRows), producerRow()],
  note: [
    'Required are two writes of a record, a strongly consistent read of the target by the sender and an eventually',
    'consistent one by dispatch, six SQS requests for each event, of which batches share all but the first, the fee for',
    "fair queues of two messages ($0.10 each) and two invocations for each batch. The producer's message, a request and",
    'a fee, is part of every row.',
  ].join(' '),
});

const partsRows = ([batchSize, path]: readonly [batchSize: number, path: Path]): string[][] => {
  const units = unitsOf(path);
  const [bill, floor] = [billPerMillion(units), billPerMillion(floorUnits(batchSize))];
  return [
    [
      `batches of ${batchSize}`,
      dollars(bill.tables),
      dollars(bill.queues),
      dollars(1e6 * units.lambdaRequests * PRICES.lambdaRequest),
      dollars(1e6 * units.lambdaGbSeconds * PRICES.lambdaGbSecond),
      dollars(bill.logs),
      dollars(total(bill)),
      dollars(cpuDollars(batchSize, path)),
    ],
    [
      `requests required, batches of ${batchSize}`,
      dollars(floor.tables),
      dollars(floor.queues),
      dollars(floor.functions),
      '–',
      '–',
      dollars(total(floor)),
      '–',
    ],
  ];
};

/** Returns the row of the producer's message, with its fee if it has a group, which makes the queue fair. */
const producerRow = (): string[] => {
  const bill = billPerMillion(PRODUCER);
  return ["of this, the producer's message", '–', dollars(bill.queues), '–', '–', '–', dollars(total(bill)), '–'];
};

/** Runs the benchmark. @param chart the file for an SVG chart of the costs */
export const benchCost = async (chart?: string): Promise<Section[]> => {
  const { tens, ones, types, coldStartGbSeconds, platformLogBytes } = await measure();
  const slow = await measureSlow();
  const failed = await measureFailedDelivery({ perMessage: tens.sender.units, platformLogBytes });
  const event = sum([PRODUCER, 1], [tens.dispatch.units, 1]);
  const each = types.map((units) => [units, 1 / types.length] as const);
  const cases: [name: string, units: Units][] = [
    ['one webhook each, batches of 10', unitsOf(tens)],
    ['one webhook each, batches of 1', unitsOf(ones)],
    ['a mix of all types', sum([event, 1], ...each)],
    ['1% of destinations fail', sum([event, 1], [tens.sender.units, 0.99], [failed.units, 0.01])],
    ['receivers that respond after 14.5 s', sum([event, 1], [slow, 1])],
  ];
  const bills = cases.map(([name, units]): { name: string; bill: Bill } => ({ name, bill: billPerMillion(units) }));
  if (chart !== undefined) writeFileSync(chart, stackedBars(bills));
  const { dispatch, sender } = tens;
  const coldStart = coldStartGbSeconds * PRICES.lambdaGbSecond;
  return [
    {
      title: 'Dollars per million alarm events with one notification each',
      columns: ['', 'tables', 'queues', 'functions', 'logs', 'total', 'email and SMS'],
      rows: bills.map(({ name, bill }) => [
        name,
        dollars(bill.tables),
        dollars(bill.queues),
        dollars(bill.functions),
        dollars(bill.logs),
        dollars(total(bill)),
        bill.emailAndSms > 0 ? dollars(bill.emailAndSms) : '–',
      ]),
      note: [
        `Batches have 10 messages unless stated otherwise. Receivers respond after ${RECEIVER_LATENCY_MS} ms, AWS after`,
        `${AWS_LATENCY_MS} ms. Time is billed time ${isLimited ? 'measured with' : 'computed for'} the CPU share of each function's memory. A batch`,
        `of 10 takes ${milliseconds(dispatch)} in dispatch (${dispatch.memoryMb} MB) and ${milliseconds(sender)} in the webhook`,
        `sender (${sender.memoryMb} MB), a batch of 1 ${milliseconds(ones.dispatch)} and ${milliseconds(ones.sender)}.`,
        `Lambda logs ${platformLogBytes} bytes for an invocation.`,
        `Not included: records of ${sender.units.recordBytes.toFixed(0)} bytes each, kept for 30 days, at`,
        `${dollars(1e6 * sender.units.recordBytes * PRICES.storedByte)} per million. A delivery that fails until it is`,
        `dead-lettered takes ${failed.messages.toFixed(1)} messages and ${failed.attempts} attempts,`,
        `${dollars(total(billPerMillion(failed.units)))} per million.`,
        `Cold starts: an event that starts dispatch and a sender costs ${dollars(1e6 * coldStart)} more per million such`,
        `events, so one event an hour costs $${(RARE_EVENTS_PER_MONTH * coldStart).toFixed(4)} more per month`,
        '(this machine; without the time in which Lambda starts its runtime).',
      ].join(' '),
    },
    partsSection([
      [10, tens],
      [1, ones],
    ]),
  ];
};
