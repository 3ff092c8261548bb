import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createIncidentLocks } from '../../../shared/adapters/deliveries/incident-locks.ts';
import { claimedLock } from '../../../shared/domain/incident.ts';
import { headerOf, newAlarmEvent } from '../../support/events.ts';
import { openSink, type Received } from '../../support/test-sink.ts';
import { until } from '../../support/until.ts';
import { useStarted } from '../../support/use-started.ts';
import { useFaultyStack } from '../support.ts';

const pagerEvent = z.object({ event_type: z.enum(['trigger', 'resolve']), incident_key: z.string() });
const typesOf = (received: readonly Received[]): string[] =>
  received.map(({ body }) => pagerEvent.parse(JSON.parse(body)).event_type);

const RAISED_AT_MS = 1_700_000_000_000;
const RESOLVED_AT_MS = RAISED_AT_MS + 60_000;
const DAY_MS = 86_400_000;
/** Later than any time to which the tests advance the clock. */
const FAR_FUTURE_MS = Date.UTC(2100, 0);

// With shorter delays, a trigger may run out of attempts before its resolve arrives.
const harness = useFaultyStack({ retryDelayScale: '1' });
const client = useStarted(() => harness.newClient());

const pagerAt = (url: string): Promise<string> =>
  client.create({ label: 'p', type: 'incidentpager', details: { service_key: 'k', service_endpoint: url } });
const critical = (id: string) => newAlarmEvent(client.tenant, [id], { state: 'CRITICAL', timeMs: RAISED_AT_MS });
const ok = (id: string) => newAlarmEvent(client.tenant, [id], { state: 'OK', timeMs: RESOLVED_AT_MS });

describe('a resolved incident stays resolved', () => {
  it('if both events are in one batch, in either order', async () => {
    for (const isReversed of [false, true]) {
      const sink = await openSink((response) => setTimeout(() => response.end(), 20));
      const id = await pagerAt(sink.url);
      const events = [critical(id), ok(id)];
      await harness.sendEvents(isReversed ? events.reverse() : events);
      await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));
      await harness.drainQueue('Delivery-incidentpager');
      expect(typesOf(sink.received).at(-1)).toBe('resolve');
    }
  });

  it('if the events of many alarms arrive in many concurrent batches', async () => {
    const sink = await openSink((response) => setTimeout(() => response.end(), Math.random() * 30));
    const id = await pagerAt(sink.url);
    const alarms = Array.from({ length: 12 }, (_, index) => `al${index}`);
    const events = alarms.flatMap((alarm) => [
      newAlarmEvent(client.tenant, [id], { state: 'CRITICAL', timeMs: RAISED_AT_MS, alarm }),
      newAlarmEvent(client.tenant, [id], { state: 'WARNING', timeMs: RAISED_AT_MS + 1, alarm }),
      newAlarmEvent(client.tenant, [id], { state: 'OK', timeMs: RESOLVED_AT_MS, alarm }),
    ]);
    await Promise.all(events.toSorted(() => Math.random() - 0.5).map((event) => harness.sendEvents([event])));
    await harness.advanceUntil(harness.completedDeliveries(client.tenant, id, events.length));
    const last = new Map(
      sink.received.map(({ body }) => {
        const { incident_key, event_type } = pagerEvent.parse(JSON.parse(body));
        return [incident_key, event_type];
      }),
    );
    expect([...last.values()]).toEqual(alarms.map(() => 'resolve'));
  });

  it('if the trigger is retried after the resolve was delivered', async () => {
    const sink = await openSink((response, { body }) =>
      response.writeHead(body.includes('"trigger"') ? 500 : 200).end(),
    );
    const id = await pagerAt(sink.url);
    await harness.sendEvents([critical(id)]);
    await sink.wait(1);
    await harness.sendEvents([ok(id)]);
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'superseded'));
    await harness.drainQueue('Delivery-incidentpager');
    expect(typesOf(sink.received).at(-1)).toBe('resolve');
    expect(typesOf(sink.received).filter((type) => type === 'resolve')).toHaveLength(1);
  });

  it('if the trigger is redriven from the dead-letter queue a day later', async () => {
    let isDown = true;
    const sink = await openSink((response) => response.writeHead(isDown ? 404 : 200).end());
    const id = await pagerAt(sink.url);
    const event = critical(id);
    await harness.sendEvents([event]);
    await harness.deadLetter('incidentpager', (body) => body.includes(event.event_id));
    isDown = false;
    await harness.sendEvents([ok(id)]);
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));

    await harness.stack.advance(DAY_MS);
    await harness.redrive('incidentpager');
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'superseded'));
    expect(typesOf(sink.received)).toEqual(['trigger', 'resolve']);
  });

  it('if the sender crashes after it sent the resolve and before it records the delivery', async () => {
    const sink = await openSink((response, { body }) =>
      response.writeHead(body.includes('"trigger"') ? 500 : 200).end(),
    );
    const id = await pagerAt(sink.url);
    await harness.sendEvents([critical(id)]);
    await sink.wait(1);
    const crash = harness.crashOnce({
      caller: 'send-incidentpager',
      service: 'dynamodb',
      action: 'UpdateItem',
      when: 'before',
      matchesBody: (body) => body.includes('advance_count = :next'),
    });
    await harness.sendEvents([ok(id)]);
    await crash;
    await harness.stack.advance(200_000);
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'superseded'));
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));
    expect(typesOf(sink.received).at(-1)).toBe('resolve');
  });

  it('if the response to the release of the incident lock is late and the SDK repeats the release', async () => {
    const sink = await openSink();
    const id = await pagerAt(sink.url);
    let isLate = false;
    const recover = harness.injectFault({ response: 'late', delayMs: 3_600 }, ({ caller, action, body }) => {
      const isRelease =
        caller.includes('send-incidentpager') && action === 'UpdateItem' && body.includes('SET lease_until_ms = :now');
      if (!isRelease || isLate) return false;
      isLate = true;
      return true;
    });
    // The sender of the first event is still waiting for that response when the second event arrives.
    await harness.sendEvents([critical(id)]);
    await sink.wait(1);
    await harness.sendEvents([ok(id)]);
    await harness.advanceUntil(until(async () => (typesOf(sink.received).includes('resolve') ? true : undefined)));
    recover();
    await harness.sendEvents([newAlarmEvent(client.tenant, [id], { state: 'WARNING', timeMs: RAISED_AT_MS + 1 })]);
    await harness.advanceUntil(harness.completedDeliveries(client.tenant, id, 3));
    expect(typesOf(sink.received)).toEqual(['trigger', 'resolve']);
  });

  it('if many events wait for the incident lock, at a cost of at most ten messages and ten writes each', async () => {
    const sink = await openSink();
    const id = await pagerAt(sink.url);
    const alerts = 20;
    const nowMs = Date.now();
    const events = Array.from({ length: alerts }, (_, index) =>
      newAlarmEvent(client.tenant, [id], {
        state: index === alerts - 1 ? 'OK' : 'CRITICAL',
        timeMs: nowMs - 60_000 + index,
      }),
    );
    const [first] = events;
    if (!first) throw new Error('There is no event.');
    const locks = createIncidentLocks(harness.documents, harness.table('Deliveries'));
    const lock = await locks.claim(claimedLock(headerOf(first), id, 'another', FAR_FUTURE_MS), FAR_FUTURE_MS);
    const count = (call: string) => harness.stack.endpoint.calls.get(`local-Delivery-send-incidentpager ${call}`) ?? 0;
    const requests = () => ({
      sends: count('sqs.SendMessage') + count('sqs.SendMessageBatch'),
      writes: count('dynamodb.UpdateItem'),
    });
    const before = requests();
    await harness.sendEvents(events);
    const pager = harness.stack.queues.get('Delivery-incidentpager');
    await until(async () =>
      (pager?.counts.delayed ?? 0) + (pager?.counts.inFlight ?? 0) >= alerts ? true : undefined,
    );
    // Steps longer than the longest wait: otherwise, on a busy machine, more of the messages would be received alone.
    for (let seconds = 0; seconds < 1_000; seconds += 40) {
      await harness.stack.advance(40_000);
      await until(async () => (harness.stack.lambda.busy() === 0 ? true : undefined));
    }
    const after = requests();
    expect((after.sends - before.sends) / alerts).toBeLessThanOrEqual(10);
    expect((after.writes - before.writes) / alerts).toBeLessThanOrEqual(10);
    expect(sink.received).toEqual([]);
    if (lock) await locks.release(lock, 0);
    await harness.advanceUntil(until(async () => (typesOf(sink.received).at(-1) === 'resolve' ? true : undefined)));
    const delivered = sink.received.length;
    await harness.advanceUntil(harness.completedDeliveries(client.tenant, id, alerts));
    expect(sink.received).toHaveLength(delivered);
  });
});

describe('an event that waited for the incident lock behind a newer one', () => {
  it('is attempted within two minutes after the newer one has failed for good', async () => {
    const sink = await openSink((response, { body }) =>
      response.writeHead(body.includes('"resolve"') ? 404 : 200).end(),
    );
    const id = await pagerAt(sink.url);
    const locks = createIncidentLocks(harness.documents, harness.table('Deliveries'));
    const lock = await locks.claim(claimedLock(headerOf(critical(id)), id, 'another', FAR_FUTURE_MS), FAR_FUTURE_MS);
    await harness.sendEvents([critical(id), ok(id)]);
    const pager = harness.stack.queues.get('Delivery-incidentpager');
    await until(async () => (pager?.counts.delayed ?? 0) + (pager?.counts.inFlight ?? 0) >= 2);
    const advance = async (totalSeconds: number) => {
      for (let seconds = 0; seconds < totalSeconds; seconds += 10) {
        await harness.stack.advance(10_000);
        // All that is due has been received and processed.
        await until(() => pager?.counts.visible === 0 && pager.counts.inFlight === 0);
      }
    };
    await advance(300);
    expect(sink.received).toEqual([]);
    if (lock) await locks.release(lock, 0);
    await advance(120);
    expect(typesOf(sink.received).toSorted()).toEqual(['resolve', 'trigger']);
  });
});
