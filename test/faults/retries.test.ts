import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { claimedLock } from '../../shared/domain/incident.ts';
import { type Client, webhook } from '../support/api.ts';
import { deliveryMessage, newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { type FaultyStack, startFaultyStack, throttled } from './support.ts';

const QUEUE = 'Delivery-webhook';
const RETRIES = 'Delivery-webhook-Retries';
const SENDER = 'Delivery-send-webhook';

/** Beyond any time that the stack's is moved to, ms. */
const FAR = Date.UTC(2100, 0);

const batch = z.object({ Records: z.array(z.object({ eventSourceARN: z.string(), body: z.string() })) });
const addressed = z.object({ QueueUrl: z.string() });

describe('the queue of retries', () => {
  let world: FaultyStack;
  let client: Client;
  beforeAll(async () => {
    world = await startFaultyStack({ retryDelayScale: '1', senderConcurrencyByType: 'webhook=2' });
    client = await world.newClient();
  });
  afterAll(() => world.stack.stop());

  const queue = (name: string) => {
    const found = world.stack.queues.get(name);
    if (!found) throw new Error(`There is no queue ${name}.`);
    return found;
  };

  /** The batches that the sender of webhooks gets from now on: for each message, the queue that it came from. */
  const watchBatches = () => {
    const invoke = vi.spyOn(world.stack.lambda, 'invoke');
    return (part: string): string[][] =>
      invoke.mock.calls
        .filter(([name]) => name === SENDER)
        .map(([, event]) => batch.parse(JSON.parse(event)).Records)
        .filter((records) => records.some(({ body }) => body.includes(part)))
        .map((records) => records.map(({ eventSourceARN }) => eventSourceARN.split(':').at(-1) ?? ''));
  };

  /** The queues that a function names in its calls of this action from now on. */
  const watchCalls = (caller: string, action: string): string[] => {
    const seen: string[] = [];
    world.failing(throttled, (call) => {
      if (call.caller === `local-${caller}` && call.action === action) {
        seen.push(
          addressed
            .parse(JSON.parse(call.body.toString('utf8')))
            .QueueUrl.split('/')
            .at(-1) ?? '',
        );
      }
      return false;
    });
    return seen;
  };

  it('takes what has failed, and it is delivered from there', async () => {
    const sink = await openSink((response, _request, index) => response.writeHead(index === 0 ? 500 : 200).end());
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    const batches = watchBatches();
    await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await until(async () => queue(RETRIES).counts.delayed || undefined);
    expect(await world.hurried(world.delivery(client.tenant, id, 'delivered'))).toMatchObject({ attempt_count: 2 });
    expect(batches(id)).toEqual([[QUEUE], [RETRIES]]);
  });

  it('keeps its message where a failure of ours puts it back: no attempt is used', async () => {
    const sink = await openSink((response, _request, index) => response.writeHead(index === 0 ? 500 : 200).end());
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await until(async () => queue(RETRIES).counts.delayed || undefined);
    const putBack = watchCalls(SENDER, 'ChangeMessageVisibility');
    const stopFailing = world.failing(
      throttled,
      ({ action, caller }) => action === 'BatchGetItem' && caller.includes(SENDER),
    );
    await world.hurried(until(async () => putBack[0]));
    stopFailing();
    expect(await world.hurried(world.delivery(client.tenant, id, 'delivered'))).toMatchObject({ attempt_count: 2 });
    expect(new Set(putBack)).toEqual(new Set([RETRIES]));
  });

  it('keeps its message while another worker has the claim', async () => {
    let end: () => void = () => undefined;
    const sink = await openSink((response, _request, index) => {
      if (index === 0) response.writeHead(500).end();
      else end = () => response.end();
    });
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    const event = newAlarmEvent(client.tenant, [id]);
    await world.sendEvents([event]);
    await world.hurried(sink.wait(2));
    const putBack = watchCalls(SENDER, 'ChangeMessageVisibility');
    const MessageBody = deliveryMessage(id, event);
    await world.sqs.send(new SendMessageCommand({ QueueUrl: queue(RETRIES).settings.url, MessageBody }));
    await until(async () => queue(RETRIES).counts.inFlight === 2 || undefined);
    await world.stack.advance(5_000);
    await until(async () => putBack[0]);
    end();
    await world.delivery(client.tenant, id, 'delivered');
    await world.drained(QUEUE);
    expect(putBack).toEqual([RETRIES]);
    expect(sink.received).toHaveLength(2);
  });

  it('gives a message that crashes its worker a hundred times to the queue of crashed ones', async () => {
    const sink = await openSink((response) => response.writeHead(500).end());
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
    const held = await until(async () => queue(RETRIES).messages.find(({ body }) => body.includes(id)));
    held.receives = 100;
    await world.hurried(until(async () => queue('Crashed').messages.find(({ body }) => body.includes(id))));
    await world.drained(QUEUE);
    expect(sink.received).toHaveLength(1);
  });

  it('lets a retry wait for the lock of its incident, while what is new waits on the queue of the type', async () => {
    const sink = await openSink((response, _request, index) => response.writeHead(index === 0 ? 500 : 200).end());
    const details = { service_key: 'k', service_endpoint: sink.url };
    const id = await client.create({ label: 'p', type: 'incidentpager', details });
    const event = newAlarmEvent(client.tenant, [id]);
    const deliveries = createDeliveryRepository(world.documents, world.table('Deliveries'));
    const waits = watchCalls('Delivery-send-incidentpager', 'SendMessageBatch');
    const whileLocked = async (happening: () => Promise<unknown>) => {
      const lock = await deliveries.claimLock(claimedLock(event, id, 'another', FAR), FAR);
      await happening();
      if (lock) await deliveries.releaseLock(lock, 0);
    };
    await whileLocked(async () => {
      await world.sendEvents([event]);
      await until(async () => waits[0]);
    });
    // The sink tells of the first attempt at once: time must not go on to the second one while its record is looked for.
    await world.hurried(sink.wait(1));
    await world.attempted(client.tenant, id);
    const before = waits.length;
    await whileLocked(() => world.hurried(until(async () => waits[before])));
    await world.hurried(world.delivery(client.tenant, id, 'delivered'));
    expect(new Set(waits.slice(0, before))).toEqual(new Set(['Delivery-incidentpager']));
    expect(new Set(waits.slice(before))).toEqual(new Set(['Delivery-incidentpager-Retries']));
  });

  it('holds one sandbox for many destinations that hang, and an alert of the same tenant and type arrives at once', async () => {
    const hanging = 60;
    const dead = await openSink((response, _request, index) => {
      if (index < hanging) response.writeHead(500).end();
    });
    const well = await openSink();
    const slow = await client.create({ ...webhook, details: { url: dead.url } });
    const quick = await client.create({ ...webhook, details: { url: well.url } });
    const batches = watchBatches();
    await world.sendEvents(Array.from({ length: hanging }, () => newAlarmEvent(client.tenant, [slow])));
    await until(async () => queue(RETRIES).counts.delayed === hanging || undefined);
    // First they are due, then their batch has been gathered.
    await world.stack.advance(10_000);
    await until(async () => queue(RETRIES).counts.inFlight === hanging || undefined);
    await world.stack.advance(5_000);
    await dead.wait(2 * hanging);
    await until(async () => world.stack.lambda.busy(SENDER) === 1 || undefined);

    const started = Date.now();
    await world.sendEvents([newAlarmEvent(client.tenant, [quick])]);
    await well.wait(1);
    expect(Date.now() - started).toBeLessThan(5_000);
    expect(world.stack.lambda.busy(SENDER)).toBeGreaterThan(0);
    expect(batches(slow).filter((sources) => sources.includes(RETRIES))).toEqual([Array(hanging).fill(RETRIES)]);
    expect(batches(quick)).toEqual([[QUEUE]]);
  });
});
