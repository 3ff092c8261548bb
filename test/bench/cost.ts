import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { type FunctionName, senderName } from '../../shared/environment.ts';
import { stackedBars } from './cost/chart.ts';
import { measureFailedDelivery } from './cost/failed-delivery.ts';
import { type Bill, billPerMillion, noUnits, PRICES, sum, total, type Units } from './cost/prices.ts';
import { buildBeside, startDriver } from './sender/start-driver.ts';
import { startChild } from './support/child.ts';
import { deployedFunctions } from './support/deployed.ts';
import type { Section } from './support/report.ts';

/*
 * Dollars per million alarm events, from the AWS requests that the deployed bundles make, the items they write, their
 * wall time and CPU time, and the bytes they log.
 */

/** The memory of a deployed function. */
const MEMORY_GB = 0.5;
/**
 * A function has one vCPU at 1,769 MB, and proportionally less below (AWS Lambda developer guide, "Configure memory").
 */
const VCPU = (MEMORY_GB * 1_024) / 1_769;
/** The START, END and REPORT lines that Lambda logs for an invocation. */
const PLATFORM_LOG_BYTES = 320;
/** Lambda receives and deletes each batch. */
const SQS_REQUESTS_PER_BATCH = 2;
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

/** A function, and the batches it receives. */
type Load = { name: FunctionName; type: NotificationTypeId; batchSize: number; batches: number };

/** Starts the deployed functions with an AWS stub and a receiver. */
const startFunctions = async (receiverLatencyMs: number) => {
  const directory = mkdtempSync(join(tmpdir(), 'bench-cost-'));
  const built = buildBeside(directory, ['driver']);
  const sink = await startChild('./counting-sink.ts', { delayMs: receiverLatencyMs });
  const aws = await startChild('./aws-stub.ts', { destination: sink.url, latencyMs: AWS_LATENCY_MS, metered: true });
  const { functions, remove } = deployedFunctions(aws.url, {
    ...SETTINGS,
    pagerEndpoint: sink.url,
    routerEndpoint: sink.url,
    feedEndpoint: sink.url,
  });

  /** Measures the average units per message of a function. */
  const unitsOf = async ({ name, type, batchSize, batches }: Load): Promise<Units> => {
    const found = functions.find((each) => each.name === name);
    if (!found) throw new Error(`There is no function ${name}.`);
    const driver = await startDriver(built('driver'), found.bundle, found.environment);
    const load = {
      batchSize,
      typeIndex: String(notificationTypeIds.indexOf(type)),
      isForDispatch: name === 'dispatch-alarm-events',
    };
    const messages = batchSize * batches;
    if (receiverLatencyMs < 1_000) await driver.run({ ...load, messages });
    await aws.counts();
    await sink.counts();
    const { seconds, cpuSeconds, logBytes } = await driver.run({ ...load, messages });
    const counts = await aws.counts();
    driver.stop();
    const { requests = 0 } = await sink.counts();
    const { SendEmail = 0, Publish = 0, sqsFairMessages = 0 } = counts;
    // Each message is sent once: by HTTP, SES, SNS, or to the queue of its type.
    const sentCount = requests + SendEmail + Publish + sqsFairMessages;
    if (sentCount !== messages) throw new Error(`${name} sent ${sentCount} of ${messages} messages.`);
    const durationSeconds = Math.max(seconds - cpuSeconds, 0) + cpuSeconds / VCPU;
    return sum(
      [{ ...noUnits, ...counts, logBytes, lambdaGbSeconds: durationSeconds * MEMORY_GB }, 1 / messages],
      [{ lambdaRequests: 1, sqsRequests: SQS_REQUESTS_PER_BATCH, logBytes: PLATFORM_LOG_BYTES }, 1 / batchSize],
    );
  };

  const stop = () => {
    remove();
    sink.stop();
    aws.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  return { unitsOf, stop };
};

/** Measures the units of dispatch per event, and of the sender of each type per delivery. */
const measure = async () => {
  const { unitsOf, stop } = await startFunctions(RECEIVER_LATENCY_MS);
  const dispatch = async (batchSize: number) =>
    // The SendMessage of the producer is one more request.
    sum(
      [await unitsOf({ name: 'dispatch-alarm-events', type: 'webhook', batchSize, batches: 40 }), 1],
      [{ sqsRequests: 1 }, 1],
    );
  const send = (type: NotificationTypeId, batchSize: number) =>
    unitsOf({ name: senderName(type), type, batchSize, batches: 40 });
  try {
    const [dispatchTen, dispatchOne] = [await dispatch(10), await dispatch(1)];
    const [webhookTen, webhookOne] = [await send('webhook', 10), await send('webhook', 1)];
    const types: Units[] = [];
    for (const type of notificationTypeIds) types.push(await send(type, 10));
    return { dispatchTen, dispatchOne, webhookTen, webhookOne, types };
  } finally {
    stop();
  }
};

const measureSlow = async (): Promise<Units> => {
  const { unitsOf, stop } = await startFunctions(SLOW_RECEIVER_LATENCY_MS);
  try {
    return await unitsOf({ name: 'send-webhook', type: 'webhook', batchSize: 10, batches: 2 });
  } finally {
    stop();
  }
};

/** Returns the duration of a batch of ten. */
const batchDuration = ({ lambdaGbSeconds }: Units): string =>
  `${((lambdaGbSeconds / MEMORY_GB) * 10_000).toFixed(0)} ms`;

const dollars = (amount: number): string => `$${amount.toFixed(2)}`;

/** Runs the benchmark. @param chart the file for an SVG chart of the costs */
export const benchCost = async (chart?: string): Promise<Section[]> => {
  const { dispatchTen, dispatchOne, webhookTen, webhookOne, types } = await measure();
  const slow = await measureSlow();
  const failed = await measureFailedDelivery({ perMessage: webhookTen, platformLogBytes: PLATFORM_LOG_BYTES });
  const each = types.map((units) => [units, 1 / types.length] as const);
  const cases: [name: string, units: Units][] = [
    ['one webhook each, batches of 10', sum([dispatchTen, 1], [webhookTen, 1])],
    ['one webhook each, batches of 1', sum([dispatchOne, 1], [webhookOne, 1])],
    ['a mix of all types', sum([dispatchTen, 1], ...each)],
    ['1% of destinations fail', sum([dispatchTen, 1], [webhookTen, 0.99], [failed.units, 0.01])],
    ['receivers that respond after 14.5 s', sum([dispatchTen, 1], [slow, 1])],
  ];
  const bills = cases.map(([name, units]): { name: string; bill: Bill } => ({ name, bill: billPerMillion(units) }));
  if (chart !== undefined) writeFileSync(chart, stackedBars(bills));
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
        `${AWS_LATENCY_MS} ms. CPU is scaled to the ${VCPU.toFixed(2)} vCPU of ${MEMORY_GB * 1_024} MB, at which a batch of 10 takes`,
        `${batchDuration(dispatchTen)} in dispatch and ${batchDuration(webhookTen)} in the webhook sender.`,
        `Not included: records of ${webhookTen.recordBytes.toFixed(0)} bytes each, kept for 30 days, at`,
        `${dollars(1e6 * webhookTen.recordBytes * PRICES.storedByte)} per million. A delivery that fails until it is`,
        `dead-lettered takes ${failed.messages.toFixed(1)} messages and ${failed.attempts} attempts,`,
        `${dollars(total(billPerMillion(failed.units)))} per million.`,
      ].join(' '),
    },
  ];
};
