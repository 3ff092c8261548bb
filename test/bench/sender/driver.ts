import { createRequire } from 'node:module';
import type { SQSBatchResponse } from 'aws-lambda';
import { peakMemoryMb } from '../support/peak-memory.ts';
import { type Batch, type BatchOptions, sqsBatch } from '../support/sqs-batch.ts';

/* Invokes a sender with one SQS batch after another and measures it. Runs as built JavaScript in its own process. */

/** The message to the driver: a number of messages in batches. */
export type Load = BatchOptions & { messages: number };

/** The message from the driver: the measurement of all batches. */
export type Measurement = {
  /** Wall time of all batches. */
  seconds: number;
  cpuSeconds: number;
  /** Peak memory of the process. */
  peakMb: number;
  /** Size of all log lines including line breaks. */
  logBytes: number;
};

type Handler = (event: Batch, context: object) => Promise<SQSBatchResponse>;

const [bundle = ''] = process.argv.slice(2);
const { handler }: { handler: Handler } = createRequire(bundle)(bundle);

const context = { awsRequestId: 'invocation', functionName: 'bench', getRemainingTimeInMillis: () => 30_000 };
let logBytes = 0;
// Counts the log of the functions instead of printing it.
process.stdout.write = (text: string | Uint8Array) => {
  logBytes += Buffer.byteLength(text);
  return true;
};

/** Measures one batch, excluding its creation. */
const runBatch = async (load: Load, measurement: Measurement): Promise<void> => {
  const batch = sqsBatch(load);
  const [startMs, cpuBefore, logBytesBefore] = [performance.now(), process.cpuUsage(), logBytes];
  const { batchItemFailures } = await handler(batch, context);
  const { user, system } = process.cpuUsage(cpuBefore);
  measurement.seconds += (performance.now() - startMs) / 1_000;
  measurement.cpuSeconds += (user + system) / 1e6;
  measurement.logBytes += logBytes - logBytesBefore;
  if (batchItemFailures.length > 0) throw new Error('A message was not delivered.');
};

process.on('message', async (load: Load) => {
  const measurement: Measurement = { seconds: 0, cpuSeconds: 0, peakMb: 0, logBytes: 0 };
  for (let sent = 0; sent < load.messages; sent += load.batchSize) await runBatch(load, measurement);
  measurement.peakMb = peakMemoryMb();
  process.send?.(measurement);
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
