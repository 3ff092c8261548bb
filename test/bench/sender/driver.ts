import { createRequire } from 'node:module';
import type { SQSBatchResponse } from 'aws-lambda';
import { deliveryBody, sharedBody } from '../../../shared/domain/delivery-message.ts';

/*
 * Invokes a sender, or something beside it, with SQS batches as Lambda does, one after the other, and tells what that took.
 * It runs as built JavaScript in a process of its own.
 */

/** What the driver is told: so many messages, in batches of a size. */
export type Slice = {
  batchSize: number;
  messages: number;
  /** The last character of the notifications' ids, by which the stub of AWS knows their type: webhooks by default. */
  place?: string;
  /** True for alarm events as the dispatch gets them, instead of deliveries. */
  isForDispatch?: boolean;
};

/** What it tells. */
export type Taken = {
  /** Of wall time, for all batches. */
  seconds: number;
  cpuSeconds: number;
  /** The most memory that the process ever had, in MB. */
  peakMemory: number;
  /** Of log lines, with their ends. */
  logBytes: number;
};

/** What the functions read of an event. */
type Batch = { Records: ReturnType<typeof message>[] };
type Handler = (event: Batch, context: object) => Promise<SQSBatchResponse>;

const [bundle = ''] = process.argv.slice(2);
const { handler }: { handler: Handler } = createRequire(bundle)(bundle);

const context = { awsRequestId: 'invocation', functionName: 'bench', getRemainingTimeInMillis: () => 30_000 };
let logBytes = 0;
/** What the functions log is counted, and not to be read here. */
process.stdout.write = (text: string | Uint8Array) => {
  logBytes += Buffer.byteLength(text);
  return true;
};

let sequence = 0;

/** An alarm event of about 2.5 KB, of one of ten tenants, for one of a hundred notifications. */
const message = ({ place = 'X', isForDispatch = false }: Slice) => {
  const number = ++sequence;
  const tenant = `tenant-${number % 10}`;
  const time = 1_790_000_000_000 + number;
  const event = {
    event_id: `${tenant}:enWeb${number}:alDisk:chDisk:${time}:CRITICAL`,
    log_entry_id: '6da55310-4200-11e6-9a3c-4b2f0d7f0a11',
    tenant_id: tenant,
    details: {
      target: 'web-1.example.com',
      timestamp: time,
      state: 'CRITICAL' as const,
      status: 'Disk is 97 % full',
      metrics: { used: { type: 'n', data: 97.2, unit: 'percent' } },
      observations: Array.from({ length: 10 }, (_, zone) => ({ zone: `mz${zone}`, text: 'x'.repeat(160) })),
    },
    entity: { id: `enWeb${number}`, label: 'web-1' },
    check: { id: 'chDisk', label: 'Disk', type: 'agent.filesystem' },
    alarm: { id: 'alDisk', label: 'Disk space' },
    previous_state: 'OK',
  };
  const notification = `nt01M7W36KGQDJ8S2D76FCWK3${String(number % 100).padStart(2, '0')}${place}`;
  const body = isForDispatch
    ? JSON.stringify({ ...event, notification_plan: { id: 'npOps', critical_state: [notification] } })
    : deliveryBody(notification, sharedBody(event, time));
  return {
    messageId: `message-${number}`,
    receiptHandle: 'handle',
    body,
    attributes: { ApproximateReceiveCount: '1', SentTimestamp: String(Date.now()), MessageGroupId: tenant },
    messageAttributes: {},
  };
};

/** Runs one batch, which is made before: what it takes alone is counted. */
const runBatch = async (slice: Slice, taken: Taken): Promise<void> => {
  const batch = { Records: Array.from({ length: slice.batchSize }, () => message(slice)) };
  const [started, before, logged] = [performance.now(), process.cpuUsage(), logBytes];
  const { batchItemFailures } = await handler(batch, context);
  const { user, system } = process.cpuUsage(before);
  taken.seconds += (performance.now() - started) / 1_000;
  taken.cpuSeconds += (user + system) / 1e6;
  taken.logBytes += logBytes - logged;
  if (batchItemFailures.length > 0) throw new Error('A message was not delivered.');
};

process.on('message', async (slice: Slice) => {
  const taken: Taken = { seconds: 0, cpuSeconds: 0, peakMemory: 0, logBytes: 0 };
  for (let done = 0; done < slice.messages; done += slice.batchSize) await runBatch(slice, taken);
  taken.peakMemory = process.resourceUsage().maxRSS / 1_024;
  process.send?.(taken);
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
