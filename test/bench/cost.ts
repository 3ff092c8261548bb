import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { type FunctionName, senderName } from '../../shared/environment.ts';
import { deadDelivery } from './cost/dead-delivery.ts';
import { stackedBars } from './cost/picture.ts';
import { type Bill, billPerMillion, noUnits, prices, sum, total, type Units } from './cost/prices.ts';
import { buildBeside, startDriver } from './sender/start-driver.ts';
import { startChild } from './support/child.ts';
import { deployedFunctions } from './support/deployed.ts';
import type { Section } from './support/report.ts';

/*
 * Dollars per million alarm events, from the AWS requests that the deployed bundles really make and the items that they really
 * write, the time and CPU that they take, and the bytes that they log.
 */

/** What a function is deployed with, in GB. */
const MEMORY = 0.5;
/** A function has one vCPU at 1,769 MB and its share of it below (Lambda's guide, "Configure memory"). */
const VCPU = (MEMORY * 1_024) / 1_769;
/** START, END and REPORT of an invocation, which Lambda logs itself, in bytes. */
const PLATFORM_LOG = 320;
/** A receive and a delete for each batch, which Lambda does for its source. */
const SOURCE_REQUESTS = 2;
/** How long AWS takes to answer a call in the region, in ms: a stub does at once. */
const AWS_LATENCY = 5;
/** How long a receiver takes, in ms. */
const RECEIVER = 50;
const SLOW_RECEIVER = 14_500;

const settings = {
  egressAllow: '127.0.0.0/8',
  smsPerTenantPerDay: '1000000',
  managedPerTenantPerDay: '1000000',
  emailsPerTenantPerDay: '1000000',
};

/** What is measured: a function with batches of a size. */
type Load = { name: FunctionName; type: NotificationTypeId; batchSize: number; batches: number };

/** Functions as they deploy, with AWS and a receiver that take their time. */
const startFunctions = async (receiver: number) => {
  const directory = mkdtempSync(join(tmpdir(), 'bench-cost-'));
  const built = buildBeside(directory, ['driver']);
  const sink = await startChild('./counting-sink.ts', { delay: receiver });
  const aws = await startChild('./aws-stub.ts', { destination: sink.url, latency: AWS_LATENCY, metered: true });
  const { functions, remove } = deployedFunctions(aws.url, {
    ...settings,
    pagerEndpoint: sink.url,
    routerEndpoint: sink.url,
    feedEndpoint: sink.url,
  });

  /** What one message costs in a function, on the average. */
  const unitsOf = async ({ name, type, batchSize, batches }: Load): Promise<Units> => {
    const found = functions.find((one) => one.name === name);
    if (!found) throw new Error(`There is no function ${name}.`);
    const driver = await startDriver(built('driver'), found.bundle, found.environment);
    const slice = {
      batchSize,
      place: String(notificationTypeIds.indexOf(type)),
      isForDispatch: name === 'dispatch-alarm-events',
    };
    const messages = batchSize * batches;
    if (receiver < 1_000) await driver.run({ ...slice, messages });
    await aws.counts();
    await sink.counts();
    const { seconds, cpuSeconds, logBytes } = await driver.run({ ...slice, messages });
    const counts = await aws.counts();
    driver.stop();
    const { requests = 0 } = await sink.counts();
    const { SendEmail = 0, Publish = 0, sqsFairMessages = 0 } = counts;
    // Each message leaves once: by HTTP, by mail, by SNS, or to the queue of its type.
    const left = requests + SendEmail + Publish + sqsFairMessages;
    if (left !== messages) throw new Error(`${left} of ${messages} messages left ${name}.`);
    const duration = Math.max(seconds - cpuSeconds, 0) + cpuSeconds / VCPU;
    return sum(
      [{ ...noUnits, ...counts, logBytes, lambdaGbSeconds: duration * MEMORY }, 1 / messages],
      [{ lambdaRequests: 1, sqsRequests: SOURCE_REQUESTS, logBytes: PLATFORM_LOG }, 1 / batchSize],
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

/** What events cost up to the queue of a type, and their deliveries by the sender of each type. */
const measure = async () => {
  const { unitsOf, stop } = await startFunctions(RECEIVER);
  const dispatch = async (batchSize: number) =>
    // The producer's own SendMessage is one request more.
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
  const { unitsOf, stop } = await startFunctions(SLOW_RECEIVER);
  try {
    return await unitsOf({ name: 'send-webhook', type: 'webhook', batchSize: 10, batches: 2 });
  } finally {
    stop();
  }
};

/** How long a batch of ten takes, in ms. */
const batchTime = ({ lambdaGbSeconds }: Units): string => `${((lambdaGbSeconds / MEMORY) * 10_000).toFixed(0)} ms`;

const dollars = (amount: number): string => `$${amount.toFixed(2)}`;

/** Runs it. @param picture where to write the bills as a picture, if at all */
export const benchCost = async (picture?: string): Promise<Section[]> => {
  const { dispatchTen, dispatchOne, webhookTen, webhookOne, types } = await measure();
  const slow = await measureSlow();
  const dead = await deadDelivery({ perMessage: webhookTen, platformLog: PLATFORM_LOG });
  const each = types.map((units) => [units, 1 / types.length] as const);
  const cases: [name: string, units: Units][] = [
    ['a webhook each, batches of 10', sum([dispatchTen, 1], [webhookTen, 1])],
    ['a webhook each, batches of 1', sum([dispatchOne, 1], [webhookOne, 1])],
    ['a mix of all types', sum([dispatchTen, 1], ...each)],
    ['1 % of destinations dead', sum([dispatchTen, 1], [webhookTen, 0.99], [dead.units, 0.01])],
    ['receivers that take 14.5 s', sum([dispatchTen, 1], [slow, 1])],
  ];
  const bills = cases.map(([name, units]): { name: string; bill: Bill } => ({ name, bill: billPerMillion(units) }));
  if (picture !== undefined) writeFileSync(picture, stackedBars(bills));
  return [
    {
      title: 'Dollars per million alarm events with one notification each',
      columns: ['', 'tables', 'queues', 'functions', 'logs', 'total', 'mails and texts'],
      rows: bills.map(({ name, bill }) => [
        name,
        dollars(bill.tables),
        dollars(bill.queues),
        dollars(bill.functions),
        dollars(bill.logs),
        dollars(total(bill)),
        bill.outlets > 0 ? dollars(bill.outlets) : '–',
      ]),
      note: [
        `Batches of 10 where nothing else is said; receivers answer after ${RECEIVER} ms, AWS after ${AWS_LATENCY} ms;`,
        `CPU is stretched to the ${VCPU.toFixed(2)} vCPU of ${MEMORY * 1_024} MB, by which a batch of 10 takes`,
        `${batchTime(dispatchTen)} in the dispatch and ${batchTime(webhookTen)} in the webhook sender.`,
        `Not in it: records of ${webhookTen.recordBytes.toFixed(0)} bytes each, kept for 30 days, which are`,
        `${dollars(1e6 * webhookTen.recordBytes * prices.storedByte)} a million.`,
        `A dead delivery: ${dead.messages.toFixed(1)} messages, ${dead.attempts} attempts,`,
        `${dollars(total(billPerMillion(dead.units)))} a million.`,
      ].join(' '),
    },
  ];
};
