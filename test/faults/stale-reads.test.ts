// The DynamoDB of the simulation never returns an earlier state.
import type { AwsCall, AwsService } from 'local-aws/aws-service.ts';
import { describe, expect, it } from 'vitest';
import { webhook } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { validDetails } from '../support/notifications.ts';
import { openSink } from '../support/test-sink.ts';
import { useStarted } from '../support/use-started.ts';
import { useFaultyStack } from './support.ts';

const harness = useFaultyStack();
const client = useStarted(() => harness.newClient());

/** Whether dispatch reads without strong consistency, so that DynamoDB may return an earlier state of the table. */
const isEventuallyConsistent = ({ action, caller, body }: AwsCall): boolean =>
  action === 'BatchGetItem' && caller.includes('dispatch') && body.includes('"ConsistentRead":false');

describe('an event for a notification that changed just before', () => {
  /** Sends an event to a notification, of which dispatch reads an earlier state. Resolves after no message is left. */
  const sendEvent = async (id: string, read: (call: AwsCall, serve: AwsService) => ReturnType<AwsService>) => {
    let reads = 0;
    harness.interceptOnce('dynamodb', isEventuallyConsistent, async (call, serve) => {
      reads++;
      return read(call, serve);
    });
    const event = newAlarmEvent(client.tenant, [id]);
    await harness.sendEvents([event]);
    await harness.drainQueue('Delivery-AlarmEvents');
    // The sender of feeds can forward the delivery to that of webhooks.
    await harness.drainQueue('Delivery-atomfeed');
    await harness.drainQueue('Delivery-webhook');
    expect(reads).toBe(1);
    return event;
  };

  it('is delivered once if the notification was created', async () => {
    const sink = await openSink();
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    const nothing = JSON.stringify({ Responses: { [harness.table('Notifications')]: [] }, UnprocessedKeys: {} });
    const headers = { 'content-type': 'application/x-amz-json-1.0' };
    const { event_id } = await sendEvent(id, async () => ({ status: 200, headers, body: nothing }));
    expect(sink.received).toHaveLength(1);
    expect(await harness.deliveries(client.tenant, id)).toMatchObject([{ status: 'delivered' }]);
    expect(harness.lines.filter((line) => line.includes(event_id) && line.includes('unknown'))).toEqual([]);
  });

  it('is delivered once, to the new URL, if the URL of the notification was replaced', async () => {
    const [earlier, current] = [await openSink(), await openSink()];
    const id = await client.create({ ...webhook, details: { url: earlier.url } });
    await sendEvent(id, async (call, serve) => {
      const response = await serve(call);
      await client.put(`/notifications/${id}`, { details: { url: current.url } });
      return response;
    });
    expect([earlier.received.length, current.received.length]).toEqual([0, 1]);
  });

  it('is delivered once, by the new type, if the type of the notification was changed', async () => {
    const sink = await openSink();
    const id = await client.create({ type: 'atomfeed', label: 'Feed', details: validDetails.atomfeed });
    await sendEvent(id, async (call, serve) => {
      const response = await serve(call);
      await client.put(`/notifications/${id}`, { type: 'webhook', details: { url: sink.url } });
      return response;
    });
    expect(sink.received).toHaveLength(1);
    expect(await harness.deliveries(client.tenant, id)).toMatchObject([{ status: 'delivered' }]);
  });

  it('is cancelled if the notification was deleted', async () => {
    const sink = await openSink();
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    await sendEvent(id, async (call, serve) => {
      const response = await serve(call);
      await client.delete(`/notifications/${id}`);
      return response;
    });
    expect(sink.received).toEqual([]);
    expect(await harness.deliveries(client.tenant, id)).toMatchObject([{ status: 'cancelled' }]);
  });
});
