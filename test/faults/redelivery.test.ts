import { randomBytes } from 'node:crypto';
import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { failedMessagePartition } from '../../shared/domain/delivery-key.ts';
import { type Client, webhook } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { useStarted } from '../support/use-started.ts';
import { throttled, useFaultyStack } from './support.ts';

const DAY_MS = 86_400_000;

const harness = useFaultyStack({ redeliveriesPerTenantPerDay: '20' });
const client = useStarted(() => harness.newClient());

const result = z.strictObject({ count: z.number(), next_marker: z.string().nullable() });

const redeliver = async (id: string, body: unknown = { since: 0 }, caller: Client = client) => {
  const response = await caller.post(`/notifications/${id}/redeliver`, body);
  expect(response.status, response.text).toBe(202);
  return result.parse(response.body);
};

/** Returns the items of the stored messages of a notification. */
const storedItems = async (id: string, tenant = client.tenant) => {
  const { Items = [] } = await harness.documents.send(
    new QueryCommand({
      TableName: harness.table('Deliveries'),
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': failedMessagePartition({ tenant, notificationId: id }) },
      ConsistentRead: true,
    }),
  );
  return Items;
};

const history = z.object({ values: z.array(z.object({ updated_at: z.number() })) });

/** Returns when the deliveries of a notification changed last. */
const failureTimes = async (id: string): Promise<number[]> =>
  history.parse((await client.get(`/notifications/${id}/deliveries`)).body).values.map(({ updated_at }) => updated_at);

/** Creates a webhook that has rejected one alert, or several, with this status. */
const failedWebhook = async (status: number, count = 1, owner: Client = client) => {
  let current = status;
  const sink = await openSink((response) => response.writeHead(current).end());
  const id = await owner.create({ ...webhook, details: { url: sink.url } });
  await harness.sendEvents(
    Array.from({ length: count }, (_, index) => newAlarmEvent(owner.tenant, [id], { alarm: `al${index}` })),
  );
  const failed = () =>
    harness.advanceUntil(
      until(async () => {
        const records = await harness.deliveries(owner.tenant, id);
        return records.filter((record) => record.status === 'failed').length === count || undefined;
      }),
    );
  await failed();
  const attempts = sink.received.length;
  return {
    id,
    sink,
    failed,
    fix: () => {
      current = 200;
    },
    /** Returns the number of requests since the first failure, after all messages are processed. */
    sends: async () => {
      await harness.drainQueue('Delivery-webhook');
      return sink.received.length - attempts;
    },
  };
};

describe('an alert that failed all attempts at a webhook', () => {
  it('arrives once after the webhook is fixed and the alert is redelivered, even if requested twice at once', async () => {
    const { id, fix, sends } = await failedWebhook(500);
    fix();
    const results = await Promise.all([redeliver(id), redeliver(id)]);
    expect(results.some(({ count }) => count === 1)).toBe(true);
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));
    expect(await redeliver(id)).toEqual({ count: 0, next_marker: null });
    expect(await sends()).toBe(1);
    expect(await storedItems(id)).toEqual([]);
  });

  it('arrives once if operators redrive its dead letter at the same time', async () => {
    const { id, fix, sends } = await failedWebhook(410);
    fix();
    await Promise.all([redeliver(id), harness.redrive('webhook')]);
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));
    expect(await sends()).toBe(1);
  });

  it('is not redelivered after operators have redriven its dead letter, and its stored message is deleted', async () => {
    const { id, fix, sends } = await failedWebhook(410);
    fix();
    await harness.redrive('webhook');
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));
    await harness.stack.advance(600_000);
    expect(await redeliver(id)).toEqual({ count: 0, next_marker: null });
    expect(await storedItems(id)).toEqual([]);
    expect(await sends()).toBe(1);
  });

  it('starts a round with all attempts, and can be redelivered again if that fails too', async () => {
    const { id, failed, fix, sends } = await failedWebhook(500);
    expect(await redeliver(id)).toEqual({ count: 1, next_marker: null });
    await until(async () => (await harness.deliveries(client.tenant, id))[0]?.status === 'pending');
    await failed();
    expect(await sends()).toBe(9);
    expect(await storedItems(id)).toHaveLength(1);
    fix();
    expect(await redeliver(id)).toEqual({ count: 1, next_marker: null });
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));
    expect(await sends()).toBe(10);
    expect((await harness.deliveries(client.tenant, id))[0]).toMatchObject({ round: 3 });
  });

  it('of hundreds of kilobytes is stored in several items, and arrives unchanged', async () => {
    let status = 410;
    const sink = await openSink((response) => response.writeHead(status).end());
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    const text = randomBytes(500_000).toString('base64');
    await harness.sendEvents([newAlarmEvent(client.tenant, [id], { check: { id: 'chDisk', text } })]);
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'failed'));
    expect((await storedItems(id)).length).toBeGreaterThan(1);
    status = 200;
    expect(await redeliver(id)).toEqual({ count: 1, next_marker: null });
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));
    expect(sink.received).toHaveLength(2);
    expect(sink.received[1]?.body).toBe(sink.received[0]?.body);
    expect(sink.received[1]?.body).toContain(text);
    expect(await storedItems(id)).toEqual([]);
  });

  it('is redelivered once although the function crashes after it sent the message', async () => {
    const { id, fix, sends } = await failedWebhook(410);
    fix();
    const crash = harness.crashOnce({
      caller: 'redeliver',
      service: 'dynamodb',
      action: 'BatchWriteItem',
      when: 'before',
    });
    const response = await client.post(`/notifications/${id}/redeliver`, { since: 0 });
    expect(response.status).toBeGreaterThanOrEqual(500);
    await crash;
    expect(await storedItems(id)).toHaveLength(1);
    await redeliver(id);
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));
    expect(await sends()).toBe(1);
  });

  it('is stored once the table can be written, and its message returns to its queue until then', async () => {
    const recover = harness.injectFault(
      throttled,
      ({ service, action, body }) => service === 'dynamodb' && action === 'PutItem' && body.includes('"failed#'),
    );
    const sink = await openSink((response) => response.writeHead(410).end());
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    const lineCount = harness.lines.length;
    await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await until(async () => harness.lines.slice(lineCount).find((line) => line.includes('internal_error=1')));
    expect(await harness.deliveries(client.tenant, id)).toMatchObject([{ status: 'pending', attempt_count: 1 }]);
    recover();
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'failed'));
    expect(await storedItems(id)).toHaveLength(1);
    expect(await redeliver(id)).toEqual({ count: 1, next_marker: null });
  });

  it('is not redelivered again by the same redelivery if it fails at once', async () => {
    const { id, failed } = await failedWebhook(410, 3);
    const began = Math.max(...(await failureTimes(id))) + 1;
    expect(await redeliver(id)).toEqual({ count: 3, next_marker: null });
    await until(async () => (await failureTimes(id)).every((timeMs) => timeMs >= began));
    await failed();
    expect(await redeliver(id, { since: 0, marker: String(began) })).toEqual({ count: 0, next_marker: null });
    expect(await redeliver(id)).toEqual({ count: 3, next_marker: null });
  });
});

it('redeliveries above the daily limit return 429 until the next UTC day, and the rest is redelivered then', async () => {
  await harness.stayWithinDay();
  const owner = await harness.newClient();
  const { id } = await failedWebhook(410, 21, owner);
  const first = await redeliver(id, { since: 0 }, owner);
  expect(first).toEqual({ count: 20, next_marker: expect.any(String) });
  const rest = { since: 0, marker: first.next_marker };
  const limited = await owner.post(`/notifications/${id}/redeliver`, rest);
  expect(limited.body).toMatchObject({
    type: 'rateLimitReached',
    code: 429,
    details: expect.stringMatching(
      /^redeliveriesPerTenantPerDay: at most 20 redeliveries in a day \(UTC\), which ends at \d{4}-\d\d-\d\dT00:00:00.000Z$/,
    ),
  });
  expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
  await harness.stack.advance(DAY_MS);
  expect(await redeliver(id, rest, owner)).toEqual({ count: 1, next_marker: null });
});

it('a redelivered CRITICAL of an incident with a newer OK ends as superseded, which the history shows', async () => {
  let status = 400;
  const sink = await openSink((response) => response.writeHead(status).end());
  const details = { service_key: 'key1', service_endpoint: sink.url };
  const id = await client.create({ label: 'p', type: 'incidentpager', details });
  const nowMs = Date.now();
  const entity = { id: 'enWeb', label: 'web-1' };
  const critical = newAlarmEvent(client.tenant, [id], { timeMs: nowMs - 2_000, entity });
  await harness.sendEvents([critical]);
  await harness.advanceUntil(harness.delivery(client.tenant, id, 'failed'));
  status = 200;
  await harness.sendEvents([newAlarmEvent(client.tenant, [id], { state: 'OK', timeMs: nowMs - 1_000, entity })]);
  await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));
  expect(sink.received).toHaveLength(2);

  expect(await redeliver(id, { event_id: critical.event_id })).toEqual({ count: 1, next_marker: null });
  await harness.advanceUntil(harness.delivery(client.tenant, id, 'superseded'));
  expect(sink.received).toHaveLength(2);
  const { body } = await client.get(`/notifications/${id}/deliveries`);
  expect(body).toMatchObject({
    values: [
      { state: 'OK', status: 'delivered' },
      { state: 'CRITICAL', status: 'superseded', event_id: critical.event_id },
    ],
  });
});

it('a notice of the service to the technical contacts is not stored for redelivery', async () => {
  const owner = await harness.newClient();
  await createAccountRepository(harness.documents, harness.table('Accounts')).update(owner.tenant, {
    technical_contacts: ['unreachable@example.com'],
  });
  const recover = harness.injectFault(
    { status: 400, type: 'MessageRejected', message: 'Address blacklisted.' },
    ({ service, body }) => service === 'ses' && body.includes('unreachable%40example.com'),
  );
  const { id } = await failedWebhook(410, 1, owner);
  await harness.advanceUntil(harness.delivery(owner.tenant, 'ntTechnicalContactsEmail', 'failed'));
  recover();
  expect(await storedItems('ntTechnicalContactsEmail', owner.tenant)).toEqual([]);
  expect(await storedItems(id, owner.tenant)).toHaveLength(1);
});
