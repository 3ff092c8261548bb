import { describe, expect, it } from 'vitest';
import { webhook } from '../../support/api.ts';
import { newAlarmEvent } from '../../support/events.ts';
import { openSink } from '../../support/test-sink.ts';
import { until } from '../../support/until.ts';
import { useStarted } from '../../support/use-started.ts';
import { throttled, useFaultyStack } from '../support.ts';

const SENDER = 'Delivery-send-webhook';
const MINUTE_MS = 60_000;
/** Longer than SQS can delay a message. */
const RETRY_AFTER_SECONDS = 3_600;

const harness = useFaultyStack({ retryDelayScale: '1' });
const client = useStarted(() => harness.newClient());

/** Creates a destination that has failed and asks for a retry in an hour. Its further responses are 200. */
const waitingDelivery = async (notification: object = webhook, failures = 1) => {
  const sink = await openSink((response, _request, index) =>
    index < failures
      ? response.writeHead(503, { 'retry-after': String(RETRY_AFTER_SECONDS) }).end()
      : response.writeHead(200).end('{"status":"success"}'),
  );
  const id = await client.create({ ...notification, details: { ...Object(notification).details, ...urlOf(sink.url) } });
  await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
  const waits = async () => {
    const [record] = await harness.deliveries(client.tenant, id);
    return record?.attempt_count === 1 && record.lease_until_ms === 0 ? record : undefined;
  };
  const { next_attempt_at_ms: scheduledAtMs } = await harness.advanceUntil(until(waits));
  return { sink, id, scheduledAtMs, events: () => sink.received.length };
};

const urlOf = (url: string) => ({ url, service_endpoint: url });

const retryNow = async (id: string) => {
  const { status, body } = await client.post(`/notifications/${id}/redeliver`, { status: 'pending' });
  expect(status).toBe(202);
  return body;
};

/** Advances the clock by 15 minutes and half a minute for the batch, as far as no function runs. */
const advanceFifteenMinutes = async () => {
  for (let step = 0; step < 31; step++) {
    await until(async () => harness.stack.lambda.busy() === 0 || undefined);
    await harness.stack.advance(MINUTE_MS / 2);
  }
  await until(async () => harness.stack.lambda.busy() === 0 || undefined);
};

describe('a delivery that waits for an hour', () => {
  it('is attempted within 15 minutes of a retry now, instead of at its scheduled time', async () => {
    const { id, sink, scheduledAtMs } = await waitingDelivery();
    expect(await retryNow(id)).toEqual({ count: 1, next_marker: null });
    await advanceFifteenMinutes();
    const delivered = await harness.delivery(client.tenant, id, 'delivered');
    expect(delivered.updated_at_ms).toBeLessThan(scheduledAtMs - 30 * MINUTE_MS);
    await harness.drainQueue('Delivery-webhook');
    expect(sink.received).toHaveLength(2);
  });

  it('is attempted once if it is requested twice at once, and again within the hour', async () => {
    const { id, sink } = await waitingDelivery(webhook, 2);
    const results = await Promise.all([retryNow(id), retryNow(id)]);
    expect(results).toContainEqual({ count: 1, next_marker: null });
    await advanceFifteenMinutes();
    expect(sink.received).toHaveLength(2);
    expect(await retryNow(id)).toEqual({
      count: 0,
      next_marker: null,
      reason: 'A retry of each waiting delivery was requested within the last hour.',
    });
    await harness.stack.advance(45 * MINUTE_MS);
    await until(async () => harness.stack.lambda.busy() === 0 || undefined);
    expect(sink.received).toHaveLength(2);
    expect(await retryNow(id)).toEqual({ count: 1, next_marker: null });
    await advanceFifteenMinutes();
    await harness.delivery(client.tenant, id, 'delivered');
    expect(sink.received).toHaveLength(3);
  });

  it.each(['before', 'after'] as const)('is attempted although its sender crashes %s the claim', async (when) => {
    const { id, sink } = await waitingDelivery();
    await retryNow(id);
    const crash = harness.crashOnce({ caller: SENDER, service: 'dynamodb', action: 'PutItem', when });
    await advanceFifteenMinutes();
    await crash;
    await harness.stack.advance(200_000);
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));
    await harness.drainQueue('Delivery-webhook');
    expect(sink.received).toHaveLength(2);
  });

  it('is attempted once, with its retry now, if the function crashes after it changed the record', async () => {
    const { id, sink } = await waitingDelivery();
    const crash = harness.crashOnce({ caller: 'redeliver', service: 'dynamodb', action: 'UpdateItem', when: 'after' });
    const { status } = await client.post(`/notifications/${id}/redeliver`, { status: 'pending' });
    expect(status).toBeGreaterThanOrEqual(500);
    await crash;
    expect(await retryNow(id)).toMatchObject({ count: 0 });
    await advanceFifteenMinutes();
    await harness.delivery(client.tenant, id, 'delivered');
    await harness.drainQueue('Delivery-webhook');
    expect(sink.received).toHaveLength(2);
  });

  it('is attempted once after each retry now although its messages are in SQS twice, because a response was lost', async () => {
    const loseResponse = () =>
      harness.interceptOnce(
        'sqs',
        ({ caller, action }) => caller.includes(SENDER) && action === 'SendMessage',
        async (call, serve) => {
          await serve(call);
          return { status: 500, headers: {}, body: '' };
        },
      );
    loseResponse();
    const { id, sink } = await waitingDelivery(webhook, 2);
    loseResponse();
    await retryNow(id);
    await advanceFifteenMinutes();
    expect(sink.received).toHaveLength(2);
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'), { stepMs: MINUTE_MS });
    await advanceFifteenMinutes();
    expect(sink.received).toHaveLength(3);
  });

  it('keeps its schedule while its record cannot be read, and its retry now takes effect afterwards', async () => {
    const { id, sink } = await waitingDelivery();
    await retryNow(id);
    const recover = harness.injectFault(
      throttled,
      ({ caller, action, body }) =>
        caller.includes(SENDER) && action === 'BatchGetItem' && body.includes('next_attempt_at_ms'),
    );
    const lineCount = harness.lines.length;
    await harness.advanceUntil(
      until(async () => harness.lines.slice(lineCount).find((line) => line.includes('early messages not read'))),
    );
    recover();
    expect(sink.received).toHaveLength(1);
    await advanceFifteenMinutes();
    await harness.delivery(client.tenant, id, 'delivered');
    expect(sink.received).toHaveLength(2);
  });
});

it('a pager receives a retried CRITICAL now, and never after a newer OK', async () => {
  const pager = { label: 'pager', type: 'incidentpager', details: { service_key: 'k'.repeat(32) } };
  const first = await waitingDelivery(pager);
  await retryNow(first.id);
  await harness.sendEvents([newAlarmEvent(client.tenant, [first.id], { state: 'OK' })]);
  await harness.advanceUntil(harness.delivery(client.tenant, first.id, 'delivered'));
  await advanceFifteenMinutes();
  const records = await harness.deliveries(client.tenant, first.id);
  expect(records.map(({ status }) => status).toSorted()).toEqual(['delivered', 'superseded']);
  expect(first.events()).toBe(2);
});
