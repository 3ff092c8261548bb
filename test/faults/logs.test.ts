// The simulation checks few texts of log lines, and has no log of the local stack.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../support/documents.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { useFaultyStack } from './support.ts';

/** The lines that CloudWatch Logs would store, with the names of their functions. */
const stored: string[] = [];
const errors: string[] = [];
const harness = useFaultyStack(
  {},
  { rawLog: (line, name) => stored.push(`${name} ${line}`), logError: (line) => errors.push(line) },
);

/** Waits for a log line with this message and text. @returns its fields */
const logged = (message: string, text: string): Promise<Record<string, unknown>> =>
  until(() => {
    const lines = stored.map((line) => line.slice(line.indexOf('{')));
    const found = lines.find((line) => line.includes(`"message":"${message}"`) && line.includes(text));
    return found !== undefined && JSON.parse(found);
  });

const newWebhook = async () => {
  const client = await harness.newClient();
  const sink = await openSink();
  return { client, sink, id: await client.create({ label: 'w', type: 'webhook', details: { url: sink.url } }) };
};

/* First, because deliveries of the other tests are still retried, and metrics name no tenant. */
it('the log of a delivery is one line of dispatch and one of the sender, each at most 510 bytes', async () => {
  const { client, sink, id } = await newWebhook();
  const before = stored.length;
  await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
  await until(() => sink.received.length === 1);
  const lines = await until(() => stored.length - before >= 2 && stored.slice(before));
  expect(lines).toEqual([
    expect.stringMatching(/^Delivery-dispatch-alarm-events \{"_aws":.*"deliveries_planned":1\}$/),
    expect.stringMatching(
      /^Delivery-send-webhook \{"_aws":.*"deliveries_delivered":1,"failure_excess":-1,"delivery_latency":\d+,"first_attempt_latency":\d+\}$/,
    ),
  ]);
  for (const line of lines) expect(Buffer.byteLength(line.slice(line.indexOf('{')))).toBeLessThanOrEqual(510);
});

describe('a log line that the runbook tells operators to read', () => {
  it('has the tenant, the event and the notification of an event whose ID was used before', async () => {
    const { client, id } = await newWebhook();
    const event = newAlarmEvent(client.tenant, [id]);
    await harness.sendEvents([event]);
    await harness.delivery(client.tenant, id, 'delivered');
    await harness.sendEvents([{ ...event, check: { id: 'another' } }]);
    const ids = { tenant_id: client.tenant, event_id: event.event_id, notification_id: id };
    expect(await logged('event conflict', client.tenant)).toMatchObject(ids);
  });

  it.each([
    ['that a sender cannot process, and the message', 'send-webhook', 'internal error'],
    ['that dispatch cannot read', 'dispatch', 'notification not read'],
  ])('has the tenant, the event and the notification %s', async (_, functionName, message) => {
    const { client, id } = await newWebhook();
    const recover = harness.injectFault(
      { status: 500, type: 'InternalServerError', message: '' },
      ({ service, caller, body }) => service === 'dynamodb' && caller.includes(functionName) && body.includes(id),
    );
    const event = newAlarmEvent(client.tenant, [id]);
    await harness.sendEvents([event]);
    const line = await logged(message, id);
    recover();
    expect(line).toMatchObject({ tenant_id: client.tenant, event_id: event.event_id, error: 'InternalServerError' });
    expect('message_id' in line).toBe(functionName === 'send-webhook');
  });

  it.each([
    ['SMS', 'sms accepted', { type: 'sms', details: { phone_number: '+12025550199' } }],
    ['email', 'email accepted', { type: 'email', details: { address: 'oncall@example.com' } }],
  ])('has the tenant of each %s that AWS accepted, in alerts and tests', async (_, message, destination) => {
    const client = await harness.newClient();
    const id = await client.create({ label: 'x', ...destination });
    const event = newAlarmEvent(client.tenant, [id]);
    await harness.sendEvents([event]);
    expect(await logged(message, id)).toMatchObject({ tenant_id: client.tenant, event_id: event.event_id });
    const before = stored.length;
    await client.post('/test-notification', destination);
    await until(() => stored.slice(before).some((line) => line.includes(message) && line.includes(client.tenant)));
  });
});

it('an error in a function appears on the local stack with TypeScript lines and its message, and in the log of AWS without the message', async () => {
  const client = await harness.newClient();
  const message = 'the secret reason';
  const recover = harness.injectFault(
    { status: 400, type: 'ValidationException', message },
    ({ service, caller }) => service === 'dynamodb' && caller.includes('get-account'),
  );
  expect((await client.get('/account')).status).toBe(503);
  recover();
  const line = await until(async () => harness.lines.find((text) => text.includes('ERROR request failed')));
  const [, source = '', lineNumber = ''] =
    /\n {4}at async Object\.find \((shared\/\S+\.ts):(\d+):\d+\)\n/.exec(line) ?? [];
  const code = readFileSync(join(root, source), 'utf8').split('\n')[Number(lineNumber) - 1];
  expect(code).toContain('await getItem(client');
  expect(line).toMatch(/\n {4}at async shared\/\S+\.ts:\d+:\d+\n/);
  const error = await until(async () => errors.find((text) => text.includes(message)));
  expect(error).toMatch(/^\S+ Api-get-account ValidationException: the secret reason$/);
  const raw = stored.filter((text) => text.includes('request failed')).join();
  expect(raw).toMatch(/"release":"[0-9a-f]{16}"/);
  expect(raw).toMatch(/at async Object\.find \(\S+\/index\.js:/);
  expect([line, ...stored].join()).not.toContain(message);
});
