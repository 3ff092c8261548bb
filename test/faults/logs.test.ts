import type { ServerResponse } from 'node:http';
import { embeddedMeasurements } from 'local-aws/cloudwatch/embedded-metrics.ts';
import { parseLogLine } from 'local-aws/lambda/log-line.ts';
import { describe, expect, it } from 'vitest';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { useFaultyStack } from './support.ts';

const stored: string[] = [];
const harness = useFaultyStack({}, { rawLog: (line, name) => stored.push(`${name} ${line}`) });

/** Waits for a log line with this message and text. @returns its fields */
const logged = (message: string, text: string): Promise<Record<string, unknown>> =>
  until(() => {
    const lines = stored.map((line) => line.slice(line.indexOf('{')));
    const found = lines.find((line) => line.includes(`"message":"${message}"`) && line.includes(text));
    return found !== undefined && JSON.parse(found);
  });

/* First, because deliveries of the other tests are still retried, and metrics name no tenant. */
describe('the log of a delivery', () => {
  it('is one line of dispatch and one of the sender, each at most 480 bytes', async () => {
    const client = await harness.newClient();
    const sink = await openSink();
    const id = await client.create({ label: 'w', type: 'webhook', details: { url: sink.url } });
    const before = stored.length;
    await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await until(() => sink.received.length === 1);
    const lines = await until(() => stored.length - before >= 2 && stored.slice(before));
    expect(lines).toEqual([
      expect.stringMatching(/^Delivery-dispatch-alarm-events \{"_aws":.*"deliveries_planned":1\}$/),
      expect.stringMatching(
        /^Delivery-send-webhook \{"_aws":.*"deliveries_delivered":1,"delivery_latency":\d+,"first_attempt_latency":\d+\}$/,
      ),
    ]);
    for (const line of lines) expect(Buffer.byteLength(line.slice(line.indexOf('{')))).toBeLessThanOrEqual(480);
  });
});

describe('the latency of a delivery', () => {
  const measured = (since: number) =>
    stored
      .slice(since)
      .flatMap((line) => embeddedMeasurements(parseLogLine(line.slice(line.indexOf('{'))) ?? {}))
      .filter(({ metric }) => Object.keys(metric.dimensions).join() === 'service');
  it('does not include the time that another one of its batch takes', async () => {
    const client = await harness.newClient();
    const held: ServerResponse[] = [];
    const sinks = [await openSink(), await openSink((response) => held.push(response))];
    const ids = await Promise.all(
      sinks.map(({ url }) => client.create({ label: 'w', type: 'webhook', details: { url } })),
    );
    const [fast = ''] = ids;
    const queue = harness.stack.queues.get('Delivery-webhook');
    const since = stored.length;
    const enable = harness.stack.eventSources.disable(queue?.settings.arn ?? '');
    await harness.sendEvents([newAlarmEvent(client.tenant, ids)]);
    await until(() => queue?.counts.visible === ids.length);
    enable();
    await until(() => held.length === 1);
    await harness.delivery(client.tenant, fast, 'delivered');
    for (const response of held) response.end();
    const latencies = await until(() => {
      const found = measured(since).filter(({ metric }) => metric.name === 'delivery_latency');
      return found.length === ids.length && found.map(({ value }) => value);
    });
    // The other one is recorded after its response, which was held until the first one was recorded.
    expect(Math.min(...latencies)).toBeLessThan(Math.max(...latencies));
  });
});

describe('a log line that the runbook tells operators to read', () => {
  it('has the tenant, the event and the notification of an event whose ID was used before', async () => {
    const client = await harness.newClient();
    const sink = await openSink();
    const id = await client.create({ label: 'w', type: 'webhook', details: { url: sink.url } });
    const event = newAlarmEvent(client.tenant, [id]);
    await harness.sendEvents([event]);
    await harness.delivery(client.tenant, id, 'delivered');
    await harness.sendEvents([{ ...event, check: { id: 'another' } }]);
    expect(await logged('event conflict', client.tenant)).toMatchObject({
      tenant_id: client.tenant,
      event_id: event.event_id,
      notification_id: id,
    });
  });

  it('has the tenant, the event, the notification and the message that a sender cannot process', async () => {
    const client = await harness.newClient();
    const id = await client.create({ label: 'w', type: 'webhook', details: { url: 'http://127.0.0.1:1' } });
    const recover = harness.injectFault(
      { status: 500, type: 'InternalServerError', message: '' },
      ({ service, caller, body }) => service === 'dynamodb' && caller.includes('send-webhook') && body.includes(id),
    );
    const event = newAlarmEvent(client.tenant, [id]);
    await harness.sendEvents([event]);
    const line = await logged('internal error', event.event_id);
    recover();
    expect(line).toMatchObject({
      tenant_id: client.tenant,
      notification_id: id,
      message_id: expect.any(String),
      error: 'InternalServerError',
    });
  });

  it('has the tenant and the notification that dispatch cannot read, and the event', async () => {
    const client = await harness.newClient();
    const id = await client.create({ label: 'w', type: 'webhook', details: { url: 'http://127.0.0.1:1' } });
    const recover = harness.injectFault(
      { status: 500, type: 'InternalServerError', message: '' },
      ({ service, caller, body }) => service === 'dynamodb' && caller.includes('dispatch') && body.includes(id),
    );
    const event = newAlarmEvent(client.tenant, [id]);
    await harness.sendEvents([event]);
    const line = await logged('notification not read', id);
    recover();
    expect(line).toMatchObject({ tenant_id: client.tenant, event_id: event.event_id });
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
