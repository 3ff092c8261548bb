import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Client } from '../support/api.ts';
import { alarmEvent } from '../support/pipeline.ts';
import { openSink, type Received } from '../support/sink-of-test.ts';
import { type FaultyStack, startFaultyStack } from './support.ts';

const pagerEvent = z.object({ event_type: z.enum(['trigger', 'resolve']), incident_key: z.string() });
const typesOf = (received: readonly Received[]): string[] =>
  received.map(({ body }) => pagerEvent.parse(JSON.parse(body)).event_type);

/** When the alarm went off, and when it was over. */
const raised = 1_700_000_000_000;
const resolved = raised + 60_000;
const DAY = 86_400_000;

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
  const critical = (id: string) => alarmEvent(client.tenant, [id], { state: 'CRITICAL', time: raised });
  const ok = (id: string) => alarmEvent(client.tenant, [id], { state: 'OK', time: resolved });

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
      alarmEvent(client.tenant, [id], { state: 'CRITICAL', time: raised, alarm }),
      alarmEvent(client.tenant, [id], { state: 'WARNING', time: raised + 1, alarm }),
      alarmEvent(client.tenant, [id], { state: 'OK', time: resolved, alarm }),
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

    world.stack.advance(DAY);
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
    world.stack.advance(200_000);
    await world.hurried(world.delivery(client.tenant, id, 'superseded'));
    await world.hurried(world.delivery(client.tenant, id, 'delivered'));
    expect(typesOf(sink.received).at(-1)).toBe('resolve');
  });
});
