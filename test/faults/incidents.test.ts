import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { claimedLock } from '../../shared/domain/incident.ts';
import type { Client } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink, type Received } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { type FaultyStack, startFaultyStack } from './support.ts';

const pagerEvent = z.object({ event_type: z.enum(['trigger', 'resolve']), incident_key: z.string() });
const typesOf = (received: readonly Received[]): string[] =>
  received.map(({ body }) => pagerEvent.parse(JSON.parse(body)).event_type);

/** When the alarm went off, and when it was over. */
const raised = 1_700_000_000_000;
const resolved = raised + 60_000;
const DAY = 86_400_000;
/** Beyond any time that the stack's is moved to, ms. */
const FAR = Date.UTC(2100, 0);

describe('an incident that is resolved stays resolved', () => {
  let world: FaultyStack;
  let client: Client;
  beforeAll(async () => {
    world = await startFaultyStack();
    client = await world.newClient();
  });
  afterAll(() => world.stack.stop());

  const pagerAt = (url: string): Promise<string> =>
    client.create({ label: 'p', type: 'incidentpager', details: { service_key: 'k', service_endpoint: url } });
  const critical = (id: string) => newAlarmEvent(client.tenant, [id], { state: 'CRITICAL', timeMs: raised });
  const ok = (id: string) => newAlarmEvent(client.tenant, [id], { state: 'OK', timeMs: resolved });

  it('when both events come in one batch, in either order', async () => {
    for (const turned of [false, true]) {
      const sink = await openSink((response) => setTimeout(() => response.end(), 20));
      const id = await pagerAt(sink.url);
      const events = [critical(id), ok(id)];
      await world.sendEvents(turned ? events.reverse() : events);
      await world.hurried(world.delivery(client.tenant, id, 'delivered'));
      await world.drained('Delivery-incidentpager');
      expect(typesOf(sink.received).at(-1)).toBe('resolve');
    }
  });

  it('when they come in many batches at once, for many alarms', async () => {
    const sink = await openSink((response) => setTimeout(() => response.end(), Math.random() * 30));
    const id = await pagerAt(sink.url);
    const alarms = Array.from({ length: 12 }, (_, index) => `al${index}`);
    const events = alarms.flatMap((alarm) => [
      newAlarmEvent(client.tenant, [id], { state: 'CRITICAL', timeMs: raised, alarm }),
      newAlarmEvent(client.tenant, [id], { state: 'WARNING', timeMs: raised + 1, alarm }),
      newAlarmEvent(client.tenant, [id], { state: 'OK', timeMs: resolved, alarm }),
    ]);
    await Promise.all(events.toSorted(() => Math.random() - 0.5).map((event) => world.sendEvents([event])));
    await world.hurried(world.settled(client.tenant, id, events.length));
    const last = new Map(
      sink.received.map(({ body }) => {
        const { incident_key, event_type } = pagerEvent.parse(JSON.parse(body));
        return [incident_key, event_type];
      }),
    );
    expect([...last.values()]).toEqual(alarms.map(() => 'resolve'));
  });

  it('when the alarm is tried again after its end has arrived', async () => {
    const sink = await openSink((response, { body }) =>
      response.writeHead(body.includes('"trigger"') ? 500 : 200).end(),
    );
    const id = await pagerAt(sink.url);
    await world.sendEvents([critical(id)]);
    await sink.wait(1);
    await world.sendEvents([ok(id)]);
    await world.hurried(world.delivery(client.tenant, id, 'superseded'));
    await world.drained('Delivery-incidentpager');
    expect(typesOf(sink.received).at(-1)).toBe('resolve');
    expect(typesOf(sink.received).filter((type) => type === 'resolve')).toHaveLength(1);
  });

  it('when the alarm is redriven from the dead-letter queue a day later', async () => {
    let broken = true;
    const sink = await openSink((response) => response.writeHead(broken ? 404 : 200).end());
    const id = await pagerAt(sink.url);
    const event = critical(id);
    await world.sendEvents([event]);
    await world.deadLetter('incidentpager', (body) => body.includes(event.event_id));
    broken = false;
    await world.sendEvents([ok(id)]);
    await world.hurried(world.delivery(client.tenant, id, 'delivered'));

    await world.stack.advance(DAY);
    await world.redrive('incidentpager');
    await world.hurried(world.delivery(client.tenant, id, 'superseded'));
    expect(typesOf(sink.received)).toEqual(['trigger', 'resolve']);
  });

  it('when the worker that sent its end dies before that is on record', async () => {
    const sink = await openSink((response, { body }) =>
      response.writeHead(body.includes('"trigger"') ? 500 : 200).end(),
    );
    const id = await pagerAt(sink.url);
    await world.sendEvents([critical(id)]);
    await sink.wait(1);
    const dead = world.crashOnce({
      caller: 'send-incidentpager',
      service: 'dynamodb',
      action: 'UpdateItem',
      when: 'before',
      fits: (body) => body.includes('newest_event_at_ms < :time'),
    });
    await world.sendEvents([ok(id)]);
    await dead;
    await world.stack.advance(200_000);
    await world.hurried(world.delivery(client.tenant, id, 'superseded'));
    await world.hurried(world.delivery(client.tenant, id, 'delivered'));
    expect(typesOf(sink.received).at(-1)).toBe('resolve');
  });

  it('when the response to the release of its lock is late, and the SDK repeats the release', async () => {
    const sink = await openSink();
    const id = await pagerAt(sink.url);
    let isLate = false;
    const recover = world.failing({ response: 'late', delayMs: 3_600 }, ({ caller, action, body }) => {
      const isRelease = caller.includes('send-incidentpager') && action === 'UpdateItem' && body.includes(':free');
      if (!isRelease || isLate) return false;
      isLate = true;
      return true;
    });
    // The worker that delivers the first event is still waiting for its response when the second one comes.
    await world.sendEvents([critical(id)]);
    await sink.wait(1);
    await world.sendEvents([ok(id)]);
    await world.hurried(until(async () => (typesOf(sink.received).includes('resolve') ? true : undefined)));
    recover();
    await world.sendEvents([newAlarmEvent(client.tenant, [id], { state: 'WARNING', timeMs: raised + 1 })]);
    await world.hurried(world.settled(client.tenant, id, 3));
    expect(typesOf(sink.received)).toEqual(['trigger', 'resolve']);
  });

  it('when the alarm came from a producer whose clock is a day ahead', async () => {
    const sink = await openSink();
    const id = await pagerAt(sink.url);
    const now = world.stack.clock.now();
    await world.sendEvents([newAlarmEvent(client.tenant, [id], { state: 'CRITICAL', timeMs: now + 23 * 3_600_000 })]);
    await world.hurried(world.settled(client.tenant, id, 1));
    await world.stack.advance(60_000);
    await world.sendEvents([newAlarmEvent(client.tenant, [id], { state: 'OK', timeMs: now + 59_000 })]);
    await world.hurried(world.settled(client.tenant, id, 2));
    expect(typesOf(sink.received)).toEqual(['trigger', 'resolve']);
  });

  it('when the alarm waits for its lock with many others, which costs at most ten messages and ten writes each', async () => {
    const sink = await openSink();
    const id = await pagerAt(sink.url);
    const alerts = 60;
    const start = Date.now();
    const events = Array.from({ length: alerts }, (_, index) =>
      newAlarmEvent(client.tenant, [id], {
        state: index === alerts - 1 ? 'OK' : 'CRITICAL',
        timeMs: start - 60_000 + index,
      }),
    );
    const [first] = events;
    if (!first) throw new Error('There is no event.');
    const deliveries = createDeliveryRepository(world.documents, world.table('Deliveries'));
    const lock = await deliveries.claimLock(claimedLock(first, id, 'another', FAR), FAR);
    const count = (call: string) => world.stack.endpoint.calls.get(`local-Delivery-send-incidentpager ${call}`) ?? 0;
    const requests = () => ({
      sends: count('sqs.SendMessage') + count('sqs.SendMessageBatch'),
      writes: count('dynamodb.UpdateItem'),
    });
    const before = requests();
    await world.sendEvents(events);
    const pager = world.stack.queues.get('Delivery-incidentpager');
    await until(async () =>
      (pager?.counts.delayed ?? 0) + (pager?.counts.inFlight ?? 0) >= alerts ? true : undefined,
    );
    for (let seconds = 0; seconds < 3_000; seconds += 15) {
      await world.stack.advance(15_000);
      await until(async () => (world.stack.lambda.busy() === 0 ? true : undefined));
    }
    const after = requests();
    expect((after.sends - before.sends) / alerts).toBeLessThanOrEqual(10);
    expect((after.writes - before.writes) / alerts).toBeLessThanOrEqual(10);
    expect(sink.received).toEqual([]);
    if (lock) await deliveries.releaseLock(lock, 0);
    await world.hurried(until(async () => (typesOf(sink.received).at(-1) === 'resolve' ? true : undefined)));
    const delivered = sink.received.length;
    await world.hurried(world.settled(client.tenant, id, alerts));
    expect(sink.received).toHaveLength(delivered);
  });
});
