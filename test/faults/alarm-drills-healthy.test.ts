import { MINUTE_MS } from 'local-aws/cloudwatch/metric-store.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newAlarmEvent } from '../support/events.ts';
import { type Sink, startSink } from '../support/sink.ts';
import { type MonitoredStack, startMonitoredStack, type Traffic } from './monitored-stack.ts';

describe('a healthy service', () => {
  let harness: MonitoredStack;
  const sinks: Sink[] = [];
  beforeAll(async () => {
    harness = await startMonitoredStack();
  });
  afterAll(async () => {
    for (const sink of sinks) sink.close();
    await harness.stack.stop();
  });

  const newTenant = async (status: number) => {
    const sink = await startSink((response) => response.writeHead(status).end());
    sinks.push(sink);
    const { tenant, create, get } = await harness.newClient();
    const id = await create({ label: 'w', type: 'webhook', details: { url: sink.url } });
    let sequence = 0;
    const events = (count: number) =>
      Array.from({ length: count }, () => {
        sequence++;
        return newAlarmEvent(tenant, [id], { alarm: `al${sequence}`, timeMs: Math.floor(harness.now()) });
      });
    return {
      tenant,
      sink,
      poll: () => get(`/notifications/${id}`),
      send: (count = 1) => harness.sendEvents(events(count)),
    };
  };

  const fired = () => harness.watch.transitions.flatMap(({ alarm, state }) => (state === 'ALARM' ? alarm : []));

  /** Advances in steps of a minute, because no alarm is expected. */
  const advanceMinutes = (minutes: number, traffic?: Traffic) => harness.advanceMinutes(minutes, traffic, MINUTE_MS);

  it("fires no alarm in an hour while one tenant's destination fails and DynamoDB throttles another tenant's partition key for some minutes", async () => {
    const [healthy, down, throttled] = await Promise.all([newTenant(200), newTenant(503), newTenant(200)]);
    const recover = harness.stack.dynamodb.throttle({ partitionKey: (value) => value.includes(throttled.tenant) });
    // Only once, because the SDK waits in real time before it repeats a throttled call.
    await throttled.send();
    const pollStatuses: number[] = [];
    await advanceMinutes(4, async () => {
      const [response] = await Promise.all([throttled.poll(), healthy.send(), down.send()]);
      pollStatuses.push(response.status);
    });
    expect(pollStatuses).toEqual([503, 503, 503, 503]);
    expect(throttled.sink.received).toEqual([]);
    recover();
    await advanceMinutes(56, async (seconds) => {
      if (seconds % 240 === 0) await Promise.all([healthy.send(), down.send()]);
    });
    expect(healthy.sink.received).toHaveLength(4 + 56 / 4);
    expect(throttled.sink.received).toHaveLength(1);
    expect(down.sink.received.length).toBeGreaterThan(4 + 56 / 4);
    expect(fired()).toEqual([]);
  });

  it('fires no alarm when DynamoDB fails once during a retry that is ten minutes old', async () => {
    const tenant = await newTenant(503);
    await tenant.send();
    await advanceMinutes(9);
    const attempts = tenant.sink.received.length;
    let isReturned = false;
    const denied = { status: 400, type: 'AccessDeniedException', message: 'Denied' };
    const recover = harness.injectFault(denied, ({ caller, service, action }) => {
      const isSender = caller === 'local-Delivery-send-webhook';
      isReturned ||= isSender && action === 'ChangeMessageVisibility';
      return isSender && service === 'dynamodb' && !isReturned;
    });
    for (let minutes = 0; tenant.sink.received.length === attempts && minutes < 20; minutes++) await advanceMinutes(1);
    recover();
    expect(isReturned).toBe(true);
    expect(tenant.sink.received).toHaveLength(attempts + 1);
    expect(fired()).toEqual([]);
  });

  it('fires no alarm in a burst of ten times the usual number of events', async () => {
    const tenant = await newTenant(200);
    await advanceMinutes(5, () => tenant.send(5));
    await advanceMinutes(3, () => tenant.send(50));
    await advanceMinutes(5, () => tenant.send(5));
    expect(tenant.sink.received).toHaveLength(5 * 5 + 50 * 3 + 5 * 5);
    expect(fired()).toEqual([]);
  });

  it('fires no alarm in a storm of alerts with summaries: those after the first ones of a window are in one email', async () => {
    // The window does not end before the storm.
    await advanceMinutes(5 - (Math.floor(harness.now() / MINUTE_MS) % 5));
    const { tenant, create, put } = await harness.newClient();
    await put('/account', { summaries: { email_after: 5, window_minutes: 5 } });
    const id = await create({ label: 'On call', type: 'email', details: { address: 'storm@example.com' } });
    const timeMs = Math.floor(harness.now());
    await harness.sendEvents(
      Array.from({ length: 200 }, (_, index) => newAlarmEvent(tenant, [id], { alarm: `al${index}`, timeMs })),
    );
    await advanceMinutes(7);
    const emails = (await harness.inbox()).filter(
      (message) => message.kind === 'email' && message.to.includes('storm@example.com'),
    );
    expect(emails).toHaveLength(5 + 1);
    expect(fired()).toEqual([]);
  });
});
