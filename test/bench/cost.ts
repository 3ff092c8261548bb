import { Console } from 'node:console';
import { startLocalStack } from '../../bin/local/stack.ts';
import { deliveryBody } from '../../shared/contracts/sender.ts';
import { connectApi } from '../support/api.ts';
import { alarmEvent } from '../support/pipeline.ts';
import { openSink } from '../support/sink.ts';
import { billPerMillion, total, type Units } from './prices.ts';

/*
 * `npm run cost`: dollars per million alarm events with one webhook each, from the AWS requests that the deployed bundles
 * really make here, the time that they take, and the bytes that they log, in batches of ten and of one.
 */

const BATCHES = 40;
/** What all functions are deployed with, in GB. */
const MEMORY = 0.5;
/** START, END and REPORT of an invocation, which Lambda logs itself, in bytes. */
const PLATFORM_LOG = 320;
/** A receive and a delete for each batch, which Lambda does for its source. */
const SOURCE_REQUESTS = 2;

const settings = { retryScale: '1', deadLetterMail: 'false' };
const logged = { bytes: 0 };
const countBytes = (line: string): void => {
  logged.bytes += Buffer.byteLength(line) + 1;
};
const stack = await startLocalStack({ settings, rawLog: countBytes });
const api = connectApi({
  ...stack.ready,
  tables: stack.plan.tables.map(({ name }) => name),
  queues: stack.plan.queues.map(({ url }) => url),
});
const sink = await openSink();

const client = await api.newClient();
const id = await client.create({ label: 'w', type: 'webhook', details: { url: sink.url } });

const record = (body: string, index: number) => ({
  messageId: `m${index}`,
  receiptHandle: 'none',
  body,
  attributes: { ApproximateReceiveCount: '1', SentTimestamp: String(Date.now()), MessageGroupId: client.tenant },
});

/** Calls of AWS by a function since it was asked last. */
const callsOf = (caller: string): Map<string, number> => {
  const calls = new Map<string, number>();
  for (const [name, count] of stack.endpoint.calls) {
    if (name.includes(caller)) calls.set(name.split(' ')[1] ?? '', count);
  }
  return calls;
};

/** Invokes a function with batches of so many messages; what one message costs on the average. */
const measure = async (
  name: string,
  size: number,
  bodyOf: () => string,
  units: (calls: (action: string) => number) => Partial<Units>,
) => {
  const invoke = () => {
    const Records = Array.from({ length: size }, (_, index) => record(bodyOf(), index));
    return stack.lambda.invoke(`Delivery-${name}`, JSON.stringify({ Records }));
  };
  await invoke();
  const [before, bytes, started] = [callsOf(name), logged.bytes, performance.now()];
  for (let batch = 0; batch < BATCHES; batch++) await invoke();
  const seconds = (performance.now() - started) / 1000;
  const after = callsOf(name);
  const messages = BATCHES * size;
  const calls = (action: string) => ((after.get(action) ?? 0) - (before.get(action) ?? 0)) / messages;
  return {
    lambdaRequests: 1 / size,
    lambdaGbSeconds: (seconds * MEMORY) / messages,
    dynamoWrites: 0,
    dynamoReads: 0,
    sqsRequests: SOURCE_REQUESTS / size,
    sqsFairMessages: 0,
    logBytes: (logged.bytes - bytes) / messages + PLATFORM_LOG / size,
    ...units(calls),
  };
};

const sum = (one: Units, other: Units): Units => ({
  lambdaRequests: one.lambdaRequests + other.lambdaRequests,
  lambdaGbSeconds: one.lambdaGbSeconds + other.lambdaGbSeconds,
  dynamoWrites: one.dynamoWrites + other.dynamoWrites,
  dynamoReads: one.dynamoReads + other.dynamoReads,
  sqsRequests: one.sqsRequests + other.sqsRequests,
  sqsFairMessages: one.sqsFairMessages + other.sqsFairMessages,
  logBytes: one.logBytes + other.logBytes,
});

const rows: Record<string, Record<string, string>> = {};
for (const size of [10, 1]) {
  const sender = await measure(
    'send-webhook',
    size,
    () => deliveryBody(id, JSON.stringify(alarmEvent(client.tenant, [id]))),
    (calls) => ({
      // A claim each, and a record each: a BatchWriteItem costs a unit for every item.
      dynamoWrites: calls('dynamodb.UpdateItem') + 1,
      dynamoReads: calls('dynamodb.BatchGetItem') * size,
      sqsRequests: SOURCE_REQUESTS / size + calls('sqs.SendMessage'),
    }),
  );
  const dispatch = await measure(
    'dispatch-alarm-events',
    size,
    () => JSON.stringify(alarmEvent(client.tenant, [id])),
    (calls) => ({
      dynamoReads: calls('dynamodb.BatchGetItem') * size,
      // The producer's own SendMessage is one more.
      sqsRequests: SOURCE_REQUESTS / size + calls('sqs.SendMessageBatch') + 1,
      sqsFairMessages: 1,
    }),
  );
  const bill = billPerMillion(sum(sender, dispatch));
  const dollars = (amount: number) => `$${amount.toFixed(2)}`;
  rows[`batches of ${size}`] = {
    queues: dollars(bill.queues),
    functions: dollars(bill.functions),
    tables: dollars(bill.tables),
    logs: dollars(bill.logs),
    total: dollars(total(bill)),
  };
}
new Console(process.stdout).table(rows);
sink.close();
await stack.stop();
