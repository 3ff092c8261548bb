import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from '../support/api.ts';
import { webhook } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { type FaultyStack, startFaultyStack } from './support.ts';

describe('limits against abuse', () => {
  let world: FaultyStack;
  let client: Client;
  beforeAll(async () => {
    world = await startFaultyStack({
      testsPerTenantPerDay: '3',
      smsPerTenantPerDay: '2',
      emailsPerTenantPerDay: '2',
      managedPerTenantPerDay: '1',
      smsCountries: '+1,+49',
    });
    client = await world.newClient();
  });
  afterAll(() => world.stack.stop());

  it('let an account test so often in a day, and then answer 429 until the next one; bad requests count for nothing', async () => {
    const tests = await world.newClient();
    const id = await tests.create({ label: 'm', type: 'managed' });
    expect((await tests.post('/test-notification', { type: 'webhook' })).status).toBe(400);
    expect((await tests.post('/notifications/nt01ARZ3NDEKTSV4RRFFQ69G5FAV/test')).status).toBe(404);
    for (let count = 0; count < 3; count++) expect((await tests.post(`/notifications/${id}/test`)).status).toBe(200);
    const refused = await tests.post('/test-notification', { type: 'managed' });
    expect(refused.body).toMatchObject({
      type: 'rateLimitReached',
      code: 429,
      details: 'at most 3 tests in a day (UTC)',
    });
    const wait = Number(refused.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(86_400);
    expect((await (await world.newClient()).post('/test-notification', { type: 'managed' })).status).toBe(200);
    await world.stack.advance(86_400_000);
    expect((await tests.post(`/notifications/${id}/test`)).status).toBe(200);
  });

  it.each([
    ['sms', { phone_number: '+12025550155' }, 2],
    ['email', { address: 'limited@example.com' }, 2],
    ['managed', undefined, 1],
  ] as const)(
    'let an account send so many messages of type %s in a day, and dead-letter the rest',
    async (type, details, limit) => {
      const own = await world.newClient();
      const id = await own.create({ label: 'l', type, details });
      await world.sendEvents(Array.from({ length: 4 }, () => newAlarmEvent(own.tenant, [id])));
      const records = await world.ended(own.tenant, id, 4);
      expect(records.filter(({ status }) => status === 'delivered')).toHaveLength(limit);
      const dead = await world.deadLetter(type, (body) => body.includes(own.tenant));
      expect(dead.attributes).toMatchObject({ reason: 'tenant_limit_exceeded', cause: 'destination' });
    },
  );

  it('keep texts from countries that ops have not allowed', async () => {
    const details = { phone_number: '+882161234567' };
    const answer = await client.post('/test-notification', { type: 'sms', details });
    expect(answer.body).toEqual({ status: 'failure', message: 'Texts to this country are not allowed' });
  });
});

describe('what a delivery costs', () => {
  let world: FaultyStack;
  beforeAll(async () => {
    world = await startFaultyStack();
  });
  afterAll(() => world.stack.stop());

  /** Writes to the database, by a function, since the calls were counted last. */
  const writes = (caller: string): number =>
    [...world.stack.endpoint.calls]
      .filter(([name]) => name.includes(caller) && /dynamodb\.(Put|Update|Delete|BatchWrite)/.test(name))
      .reduce((sum, [, count]) => sum + count, 0);

  it.each([
    ['webhook', {}, 2],
    ['incidentpager', { service_key: 'k' }, 4],
  ] as const)(
    'is at most so many writes of the database for a delivered attempt by %s',
    async (type, fields, limit) => {
      const sink = await openSink();
      const client = await world.newClient();
      const details = type === 'webhook' ? { url: sink.url } : { ...fields, service_endpoint: sink.url };
      const id = await client.create({ ...webhook, type, details });
      // The first call of an account makes its credentials.
      await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
      await world.ended(client.tenant, id, 1);
      const before = writes(`send-${type}`);
      await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
      await world.ended(client.tenant, id, 2);
      expect(writes(`send-${type}`) - before).toBeLessThanOrEqual(limit);
    },
  );

  it('is at most 0.4 calls of AWS for a delivery in the dispatch of ten events with a webhook each', async () => {
    const client = await world.newClient();
    const id = await client.create(webhook);
    const calls = () =>
      [...world.stack.endpoint.calls]
        .filter(([name]) => name.includes('dispatch'))
        .reduce((sum, [, count]) => sum + count, 0);
    const before = calls();
    const Records = Array.from({ length: 10 }, (_, index) => ({
      messageId: `m${index}`,
      body: JSON.stringify(newAlarmEvent(client.tenant, [id])),
      attributes: { ApproximateReceiveCount: '1' },
    }));
    const { payload } = await world.stack.lambda.invoke('Delivery-dispatch-alarm-events', JSON.stringify({ Records }));
    expect(JSON.parse(payload)).toEqual({ batchItemFailures: [] });
    expect(calls() - before).toBeGreaterThan(0);
    expect((calls() - before) / 10).toBeLessThanOrEqual(0.4);
  });
});

describe('an alert that waits for longer than SQS can delay it', () => {
  let world: FaultyStack;
  beforeAll(async () => {
    world = await startFaultyStack({ retryDelayScale: '1' });
  });
  afterAll(() => world.stack.stop());

  const QUARTER = 15 * 60_000;

  it('comes by every 15 minutes without a read or a write of the database, and is delivered when it is due', async () => {
    const sink = await openSink((response, _request, index) => {
      response.writeHead(index === 0 ? 429 : 200, { 'retry-after': '3000' }).end();
    });
    const client = await world.newClient();
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await sink.wait(1);
    const sent = () => world.stack.endpoint.calls.get('local-Delivery-send-webhook sqs.SendMessage') ?? 0;
    const [fresh, retries] = ['Delivery-webhook', 'Delivery-webhook-Retries'].map((name) =>
      world.stack.queues.get(name),
    );
    /** It is acked where it was, too: else it would be seen again. */
    const untilItWaits = () =>
      until(
        async () =>
          (fresh?.messages.length === 0 && retries?.counts.inFlight === 0 && retries.counts.delayed) || undefined,
      );
    const comeBy = async () => {
      await world.stack.advance(QUARTER);
      await until(async () => retries?.counts.inFlight || undefined);
      // Its batch has been gathered.
      await world.stack.advance(5_000);
    };
    await untilItWaits();
    const database = () =>
      [...world.stack.endpoint.calls].filter(([name]) => name.includes('send-webhook dynamodb')).toSorted();
    const before = database();
    // 50 minutes, and up to 10 of jitter: three steps of 15 minutes, or four.
    for (let step = 1; step <= 3; step++) {
      await comeBy();
      await until(async () => sent() > step || undefined);
      await untilItWaits();
    }
    expect(sent()).toBe(4);
    expect(database()).toEqual(before);
    expect(sink.received).toHaveLength(1);
    await comeBy();
    await sink.wait(2);
    expect(await world.delivery(client.tenant, id, 'delivered')).toMatchObject({ attempt_count: 2 });
  });
});
