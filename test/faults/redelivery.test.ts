import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { failedMessagePartition } from '../../shared/domain/delivery-key.ts';
import { type Client, webhook } from '../support/api.ts';
import { newAlarmEvent, traceFields } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { useStarted } from '../support/use-started.ts';
import { throttled, useFaultyStack } from './support.ts';

const harness = useFaultyStack();
const client = useStarted(() => harness.newClient());

const result = z.strictObject({ count: z.number(), next_marker: z.string().nullable(), reason: z.string().optional() });

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

/** Creates a webhook that has rejected one alert, or several, with this status. */
const failedWebhook = async (status: number, count = 1, owner: Client = client) => {
  let current = status;
  const sink = await openSink((response) => response.writeHead(current).end());
  const id = await owner.create({ ...webhook, details: { url: sink.url } });
  await harness.sendEvents(
    Array.from({ length: count }, (_, index) =>
      newAlarmEvent(owner.tenant, [id], { alarm: `al${index}`, ...traceFields }),
    ),
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
    const { id, sink, fix, sends } = await failedWebhook(500);
    fix();
    const results = await Promise.all([redeliver(id), redeliver(id)]);
    expect(results.some(({ count }) => count === 1)).toBe(true);
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));
    expect(await redeliver(id)).toMatchObject({ count: 0, next_marker: null, reason: expect.any(String) });
    expect(await sends()).toBe(1);
    expect(await storedItems(id)).toEqual([]);
    // Each attempt and the redelivery have the headers of the trace.
    expect(sink.received.map(({ headers }) => headers)).toEqual(
      Array.from({ length: 10 }, () => expect.objectContaining(traceFields)),
    );
  });

  it('arrives once if operators redrive its dead letter at the same time', async () => {
    const { id, fix, sends } = await failedWebhook(410);
    fix();
    await Promise.all([redeliver(id), harness.redrive('webhook')]);
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'));
    expect(await sends()).toBe(1);
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
});
