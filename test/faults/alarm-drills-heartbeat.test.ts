import { MINUTE_MS } from 'local-aws/cloudwatch/metric-store.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HEARTBEAT_TENANT } from '../../shared/contracts/alarm-event.ts';
import { newAlarmEvent } from '../support/events.ts';
import { type Sink, startSink } from '../support/sink.ts';
import { type MonitoredStack, startMonitoredStack } from './monitored-stack.ts';

const BEAT_MINUTES = 5;

const EXPECTED_MINUTES = 30;

/** How much later the alarm on missing events may fire: its newest period is incomplete. */
const LATE_MINUTES = 2;

const DENIED = { status: 400, type: 'AccessDeniedException', message: 'Denied' };

describe('a stack with a heartbeat and expected events', () => {
  let harness: MonitoredStack;
  let monitor: Sink;
  let isMonitorUp = true;
  /** The bodies of the heartbeats that the monitor accepted. */
  const accepted: string[] = [];

  beforeAll(async () => {
    monitor = await startSink((response, { body }) => {
      if (isMonitorUp) accepted.push(body);
      response.writeHead(isMonitorUp ? 200 : 500).end();
    });
    harness = await startMonitoredStack({
      heartbeatUrl: `${monitor.url}/push/secret`,
      expectedEventIntervalMinutes: String(EXPECTED_MINUTES),
    });
    await harness.advanceMinutes(BEAT_MINUTES, undefined, MINUTE_MS);
  });
  afterAll(async () => {
    monitor.close();
    await harness.stack.stop();
  });

  const advanceMinutes = (minutes: number) => harness.advanceMinutes(minutes, undefined, MINUTE_MS);

  /**
   * Returns how many heartbeats the monitor accepts in this time, and in a minute more: one may be due between steps.
   */
  const beatsIn = async (minutes: number): Promise<number> => {
    const before = accepted.length;
    await advanceMinutes(minutes + 1);
    return accepted.length - before;
  };

  const deny = (deniedCaller: string, deniedService: string) =>
    harness.injectFault(DENIED, ({ caller, service }) => caller === deniedCaller && service === deniedService);
  const disableConsumer = (queue: string) =>
    harness.stack.eventSources.disable(`arn:aws:sqs:us-east-1:000000000000:${queue}`);
  const stopMonitor = () => {
    isMonitorUp = false;
    return () => {
      isMonitorUp = true;
    };
  };

  it('sends a signed heartbeat every five minutes, which only the monitor receives', async () => {
    expect(await beatsIn(6 * BEAT_MINUTES)).toBeGreaterThanOrEqual(6);
    expect(JSON.parse(accepted.at(-1) ?? '')).toMatchObject({
      event_id: expect.stringMatching(/^heartbeat:[0-9a-f]{16}$/),
      details: { state: 'OK', scheduled_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) },
      tenant_id: HEARTBEAT_TENANT,
    });
    expect(new Set(accepted).size).toBe(accepted.length);
    expect(monitor.received.at(-1)?.headers['webhook-signature']).toMatch(/^v1,/);
  });

  it.for<[string, () => () => unknown]>([
    ['the schedule is disabled', () => harness.stack.schedules.disable('Delivery-Heartbeat')],
    ['the event source of dispatch is disabled', () => disableConsumer('Delivery-AlarmEvents')],
    ['dispatch may not send to the queue of webhooks', () => deny('local-Delivery-dispatch-alarm-events', 'sqs')],
    ['the event source of the sender is disabled', () => disableConsumer('Delivery-webhook')],
    ['the sender cannot read or write tables', () => deny('local-Delivery-send-webhook', 'dynamodb')],
    ['the monitor fails', stopMonitor],
  ])('has no heartbeat while %s, and has one within five minutes after that', async ([, breakLink]) => {
    const repair = breakLink();
    expect(await beatsIn(4 * BEAT_MINUTES)).toBe(0);
    repair();
    expect(await beatsIn(BEAT_MINUTES)).toBeGreaterThanOrEqual(1);
    expect(await beatsIn(2 * BEAT_MINUTES)).toBeGreaterThanOrEqual(2);
  });

  it('fires no other alarms than on messages that wait, and on missing events, which heartbeats are not', async () => {
    await advanceMinutes(5);
    const fired = new Set(harness.watch.transitions.flatMap(({ alarm, state }) => (state === 'ALARM' ? alarm : [])));
    expect([...fired].toSorted()).toEqual(['MissingEvents', 'QueueAge']);
    expect(harness.watch.firing).toEqual(['MissingEvents']);
    expect(harness.lines.filter((line) => line.includes('heartbeat not delivered')).length).toBeGreaterThan(5);
    expect(harness.lines.filter((line) => line.includes('push/secret'))).toEqual([]);
  });

  it('clears the alarm on missing events with the first event, and fires it when there was none for the interval', async () => {
    const { tenant } = await harness.newClient();
    const send = () => harness.sendEvents([newAlarmEvent(tenant, [], { timeMs: Math.floor(harness.now()) })]);
    await send();
    await advanceMinutes(2);
    expect(harness.watch.firing).toEqual([]);
    await advanceMinutes(20);
    await send();
    await advanceMinutes(EXPECTED_MINUTES - 5);
    expect(harness.watch.firing).toEqual([]);
    await advanceMinutes(5 + LATE_MINUTES);
    expect(harness.watch.firing).toEqual(['MissingEvents']);
  });
});
