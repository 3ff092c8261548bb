import { createRequire } from 'node:module';
import type { SQSBatchResponse } from 'aws-lambda';
import { alarmEvent, deliveryMessage } from '../../support/events.ts';

/* Invokes a sender with one SQS batch after another and measures it. Runs as built JavaScript in its own process. */

/** The message to the driver: a number of messages in batches. */
export type Load = {
  batchSize: number;
  messages: number;
  /** The last character of the notification IDs: the index of their type in the AWS stub. Webhooks by default. */
  typeIndex?: string;
  /** Sends alarm events for dispatch instead of deliveries. */
  isForDispatch?: boolean;
};

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

/** An SQS event as far as the functions read it. */
type Batch = { Records: ReturnType<typeof message>[] };
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

let sequence = 0;

/** Creates an alarm event of about 2.5 KB, of one of ten tenants, for one of a hundred notifications. */
const message = ({ typeIndex = 'X', isForDispatch = false }: Load) => {
  const number = ++sequence;
  const tenant = `tenant-${number % 10}`;
  const timeMs = 1_790_000_000_000 + number;
  const { details } = alarmEvent();
  const observations = Array.from({ length: 10 }, (_, zone) => ({ zone: `mz${zone}`, text: 'x'.repeat(160) }));
  const event = alarmEvent({
    event_id: `${tenant}:enWeb${number}:alDisk:chDisk:${timeMs}:CRITICAL`,
    tenant_id: tenant,
    details: { ...details, timestamp: timeMs, observations },
    entity: { id: `enWeb${number}`, label: 'web-1' },
  });
  const notification = `nt01M7W36KGQDJ8S2D76FCWK3${String(number % 100).padStart(2, '0')}${typeIndex}`;
  const body = isForDispatch
    ? JSON.stringify({ ...event, notification_plan: { id: 'npOps', critical_state: [notification] } })
    : deliveryMessage(notification, event, timeMs);
  return {
    messageId: `message-${number}`,
    receiptHandle: 'handle',
    body,
    attributes: { ApproximateReceiveCount: '1', SentTimestamp: String(Date.now()), MessageGroupId: tenant },
    messageAttributes: {},
  };
};

/** Measures one batch, excluding its creation. */
const runBatch = async (load: Load, measurement: Measurement): Promise<void> => {
  const batch = { Records: Array.from({ length: load.batchSize }, () => message(load)) };
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
  measurement.peakMb = process.resourceUsage().maxRSS / 1_024;
  process.send?.(measurement);
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
