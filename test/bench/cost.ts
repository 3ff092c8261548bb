import { type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { type FunctionName, senderName } from '../../shared/environment.ts';
import { startFunctions } from './support/functions.ts';
import { meter } from './support/meter.ts';
import { billParts, billPerMillion, sum, total, type Units } from './support/prices.ts';
import type { Section } from './support/report.ts';
import { sqsBatch } from './support/sqs-batch.ts';

/** Assumed latencies of an AWS call within the region, and of a receiver. */
const LATENCIES = { awsLatencyMs: 5, receiverLatencyMs: 50 };
const BATCHES = 40;
/**
 * Batches before the measured ones, without a limit on the CPU. At a million events a month, an execution environment
 * that Lambda keeps for two hours processes more than 2,000 batches of one.
 */
const WARM_UP_BATCHES = 200;

/** What the producer's message requires. Its group is the tenant (docs/api.md#alarm-events). */
const PRODUCER = meter('SendMessage', { MessageBody: '{}', MessageGroupId: 'tenant' });

/** The average units of a message, and the average billed time of a batch. */
type Measured = { units: Units; batchMs: number };

const dollars = (amount: number): string => `$${amount.toFixed(2)}`;

/**
 * Measures the dollars per million alarm events, from the AWS requests that the deployed bundles make, the items they
 * write, the bytes they log, and their time with the CPU share that they have on Lambda.
 */
export const benchCost = async (): Promise<Section> => {
  const { aws, receiver, functionNamed, start, stop } = await startFunctions({ ...LATENCIES, isMetered: true });

  const measure = async (name: FunctionName, type: NotificationTypeId, batchSize: number): Promise<Measured> => {
    const found = functionNamed(name);
    const started = start(found, { isHeapLimited: true });
    const isForDispatch = name === 'dispatch-alarm-events';
    const typeIndex = String(notificationTypeIds.indexOf(type));
    const run = (count: number) =>
      started.invoke(Array.from({ length: count }, () => sqsBatch({ batchSize, typeIndex, isForDispatch })));
    await run(WARM_UP_BATCHES);
    started.limitCpu();
    await Promise.all([aws.counts(), receiver.counts()]);
    const invocations = await run(BATCHES);
    const [counts, { requests = 0 }] = await Promise.all([aws.counts(), receiver.counts()]);
    await started.stop();
    const messages = batchSize * BATCHES;
    const { SendEmail = 0, Publish = 0, sqsFairMessages = 0 } = counts;
    // Each message is sent once: by HTTP, SES, SNS, or to the queue of its type.
    const sentCount = requests + SendEmail + Publish + sqsFairMessages;
    if (sentCount !== messages) throw new Error(`${name} sent ${sentCount} of ${messages} messages.`);
    const mean = (values: readonly number[]) => values.reduce((left, right) => left + right, 0) / values.length;
    // Lambda bills whole milliseconds. It logs only invocations that fail.
    const batchMs = mean(invocations.map(({ ms }) => Math.ceil(ms)));
    const perBatch: Partial<Units> = {
      lambdaRequests: 1,
      // Lambda receives and deletes each batch.
      sqsRequests: 2,
      logBytes: mean(invocations.map(({ logBytes }) => logBytes)),
      lambdaGbSeconds: (batchMs / 1_000) * (found.memoryMb / 1_024),
    };
    return { units: sum([counts, 1 / messages], [perBatch, 1 / batchSize]), batchMs };
  };

  const rows: string[][] = [];
  const addRow = (name: string, senderUnits: Units, dispatch: Measured): void => {
    const units = sum([PRODUCER, 1], [dispatch.units, 1], [senderUnits, 1]);
    const bill = billPerMillion(units);
    const emailAndSms = bill.emailAndSms > 0 ? dollars(bill.emailAndSms) : '–';
    rows.push([name, ...billParts.map((part) => dollars(bill[part])), dollars(total(bill)), emailAndSms]);
  };
  const times: string[] = [];
  try {
    for (const batchSize of [1, 10]) {
      const dispatch = await measure('dispatch-alarm-events', 'webhook', batchSize);
      const sender = await measure('send-webhook', 'webhook', batchSize);
      addRow(`one webhook each, batches of ${batchSize}`, sender.units, dispatch);
      const [dispatchMs, senderMs] = [dispatch, sender].map(({ batchMs }) => batchMs.toFixed(0));
      times.push(
        `A batch of ${batchSize} takes ${dispatchMs} ms in dispatch and ${senderMs} ms in the webhook sender.`,
      );
      if (batchSize === 1) continue;
      const types: Units[] = [];
      for (const type of notificationTypeIds) types.push((await measure(senderName(type), type, batchSize)).units);
      const mix = sum(...types.map((units) => [units, 1 / types.length] as const));
      addRow(`a mix of all types, batches of ${batchSize}`, mix, dispatch);
    }
  } finally {
    stop();
  }
  return {
    title: 'Dollars per million alarm events with one notification each',
    columns: ['', ...billParts, 'total', 'email and SMS'],
    rows,
    note: [
      `Receivers respond after ${LATENCIES.receiverLatencyMs} ms, AWS after ${LATENCIES.awsLatencyMs} ms.`,
      ...times,
      'Time is billed time with the CPU share of each function. Not included: the storage of records.',
    ].join(' '),
  };
};
