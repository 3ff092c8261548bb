import { Console } from 'node:console';
import { startLocalStack } from '../../bin/local/stack.ts';
import { createAccountRepository } from '../../shared/adapters/account-repository.ts';
import {
  type NotificationTypeId,
  notificationTypeIds,
  notificationTypes,
} from '../../shared/contracts/notification-types.ts';
import { deliveryBody } from '../../shared/contracts/sender.ts';
import { connectApi } from '../support/api.ts';
import { alarmEvent } from '../support/pipeline.ts';
import { openSink } from '../support/sink.ts';
import { billPerMillion, prices, total, type Units } from './prices.ts';

/*
 * `npm run cost`: dollars per million alarm events, one notification each, from the AWS requests that the deployed bundles
 * really make here, the time that they take, and the bytes that they log, in batches of ten and of one.
 */

const BATCHES = 40;
/** What all functions are deployed with, in GB. */
const MEMORY = 0.5;
/** START, END and REPORT of an invocation, which Lambda logs itself, in bytes. */
const PLATFORM_LOG = 320;
/** A receive and a delete for each batch, which Lambda does for its source. */
const SOURCE_REQUESTS = 2;

const settings = {
  deadLetterMail: 'false',
  smsPerTenantDay: '1000000',
  managedPerTenantDay: '1000000',
  emailPerTenantDay: '1000000',
};
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
await createAccountRepository(api.documents, api.table('Accounts')).setTechnicalContacts(client.tenant, [
  'a@example.com',
]);

/** A destination of each type that takes everything. */
const details: Record<NotificationTypeId, object> = {
  email: { address: 'a@example.com' },
  webhook: { url: sink.url },
  incidentpager: { service_key: 'k', service_endpoint: sink.url },
  sms: { phone_number: '+12025550123' },
  incidentrouter: { api_key: '7b9c1d1e-3f5a-4c2b-8d6e-0a1b2c3d4e5f' },
  atomfeed: { category: 'cost' },
  technicalContactsEmail: {},
  managed: {},
};
const create = (type: NotificationTypeId) => client.create({ label: type, type, details: details[type] });

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

const scaled = (units: Units, by: number): Units => ({
  lambdaRequests: units.lambdaRequests * by,
  lambdaGbSeconds: units.lambdaGbSeconds * by,
  dynamoWrites: units.dynamoWrites * by,
  dynamoReads: units.dynamoReads * by,
  sqsRequests: units.sqsRequests * by,
  sqsFairMessages: units.sqsFairMessages * by,
  logBytes: units.logBytes * by,
});

const sum = (one: Units, other: Units): Units => ({
  lambdaRequests: one.lambdaRequests + other.lambdaRequests,
  lambdaGbSeconds: one.lambdaGbSeconds + other.lambdaGbSeconds,
  dynamoWrites: one.dynamoWrites + other.dynamoWrites,
  dynamoReads: one.dynamoReads + other.dynamoReads,
  sqsRequests: one.sqsRequests + other.sqsRequests,
  sqsFairMessages: one.sqsFairMessages + other.sqsFairMessages,
  logBytes: one.logBytes + other.logBytes,
});

/** What a delivery by a type's sender costs, in batches of a size. Each event is of an alarm of its own. */
const senderUnits = async (type: NotificationTypeId, size: number): Promise<Units> => {
  const id = await create(type);
  let alarm = 0;
  const body = () => deliveryBody(id, JSON.stringify(alarmEvent(client.tenant, [id], { alarm: `al${alarm++}` })));
  return measure(`send-${type}`, size, body, (calls) => ({
    // A BatchWriteItem costs a unit for every item: the record, and the turn of an incident.
    dynamoWrites: calls('dynamodb.UpdateItem') + (notificationTypes[type].hasIncidents ? 2 : 1),
    dynamoReads: calls('dynamodb.BatchGetItem') * size + calls('dynamodb.GetItem'),
    sqsRequests: SOURCE_REQUESTS / size + calls('sqs.SendMessage'),
  }));
};

/** What an event costs on its way to the queue of a type. */
const dispatchUnits = async (size: number): Promise<Units> => {
  const id = await create('managed');
  return measure(
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
};

const rows: Record<string, Record<string, string>> = {};
const dollars = (amount: number) => `$${amount.toFixed(2)}`;
const addRow = (name: string, units: Units, outside = 0) => {
  const bill = billPerMillion(units);
  rows[name] = {
    queues: dollars(bill.queues),
    functions: dollars(bill.functions),
    tables: dollars(bill.tables),
    logs: dollars(bill.logs),
    total: dollars(total(bill)),
    'mail and texts': dollars(1e6 * outside),
  };
};

const dispatchOfTen = await dispatchUnits(10);
addRow('a webhook each, batches of 10', sum(await senderUnits('webhook', 10), dispatchOfTen));
addRow('a webhook each, batches of 1', sum(await senderUnits('webhook', 1), await dispatchUnits(1)));

let mix: Units | undefined;
for (const type of notificationTypeIds) {
  const units = await senderUnits(type, 10);
  mix = mix ? sum(mix, units) : units;
}
const share = 1 / notificationTypeIds.length;
// Two of the types are mails, one is a text of one part in the US, without carriers' fees.
if (mix)
  addRow(
    'a mix of all types, batches of 10',
    sum(scaled(mix, share), dispatchOfTen),
    share * (2 * prices.mail + prices.text),
  );

new Console(process.stdout).table(rows);
sink.close();
await stack.stop();
