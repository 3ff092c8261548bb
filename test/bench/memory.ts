import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { senderName } from '../../shared/environment.ts';
import { firstEvent } from './support/first-event.ts';
import { startFunctions } from './support/functions.ts';
import type { Section } from './support/report.ts';
import { sqsBatch } from './support/sqs-batch.ts';

/** Lambda limits the messages of a batch to 6 MB in total. Their attributes count, and JSON escapes them once more. */
const BATCH_BYTES = 5.5 * 1_024 * 1_024;
/** Retries are gathered in batches of 100. */
const RETRIES = 100;
const ZONES = 10;
/** Each input several times, because memory that is not yet collected adds up. */
const INVOCATIONS = 2;

/** The largest inputs of the consumers of queues, by function. */
const largestBatches = new Map<string, () => object>([
  [
    'dispatch-alarm-events',
    () => sqsBatch({ batchSize: 10, planSize: 10_000, zoneBytes: 6 * 1_024, isForDispatch: true }),
  ],
  ...notificationTypeIds.map((type): [string, () => object] => [
    senderName(type),
    () => sqsBatch({ batchSize: RETRIES, types: [type], zoneBytes: Math.floor(BATCH_BYTES / RETRIES / ZONES) }),
  ]),
]);

/** Measures the memory of every function: with its first event, and with the largest batch of its queue. */
export const benchMemory = async (): Promise<Section> => {
  const { receiver, functions, start, stop } = await startFunctions();
  const rows: string[][] = [];
  try {
    for (const found of functions) {
      const started = start(found, { isHeapLimited: true });
      const [first] = await started.invoke([firstEvent(found.name, receiver.url)]);
      const largest = largestBatches.get(found.name);
      if (largest) started.limitCpu();
      const invocations = largest ? await started.invoke(Array.from({ length: INVOCATIONS }, largest)) : [];
      await started.stop();
      const failed = invocations.find(({ result }) => JSON.stringify(result) !== '{"batchItemFailures":[]}');
      if (failed) throw new Error(`${found.name} returned ${JSON.stringify(failed.result)}.`);
      const seconds = Math.max(...invocations.map(({ ms }) => ms)) / 1_000;
      rows.push([
        found.name,
        String(found.memoryMb),
        first?.peakMb.toFixed(0) ?? '–',
        invocations.at(-1)?.peakMb.toFixed(0) ?? '–',
        largest ? seconds.toFixed(1) : '–',
      ]);
    }
  } finally {
    stop();
  }
  return {
    title: 'Peak memory of each function',
    columns: ['function', 'memory, MB', 'first event, MB', 'largest batch, MB', 'largest batch, s'],
    rows,
    note:
      'The largest batch of dispatch has 10 events of 350 KB for 10,000 notifications each, that of a sender 100 retries ' +
      'of 56 KB; with the CPU share of the memory. Memory includes the pages of Node.js itself.',
  };
};
