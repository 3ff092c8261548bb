import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { webhook } from '../../support/api.ts';
import { deliveryMessage, newAlarmEvent } from '../../support/events.ts';
import { openSink } from '../../support/test-sink.ts';
import { until } from '../../support/until.ts';
import { useStarted } from '../../support/use-started.ts';
import { throttled, useFaultyStack } from '../support.ts';

const QUEUE = 'Delivery-webhook';
const RETRIES = 'Delivery-webhook-Retries';
const SENDER = 'Delivery-send-webhook';
const MAX_FIRST_BATCH = 10;

const sqsEvent = z.object({ Records: z.array(z.object({ eventSourceARN: z.string(), body: z.string() })) });
const sqsRequest = z.object({ QueueUrl: z.string() });

const harness = useFaultyStack({ retryDelayScale: '1', senderConcurrencyByType: 'webhook=3' });
const client = useStarted(() => harness.newClient());

describe('the retry queue', () => {
  const queue = (name: string) => {
    const found = harness.stack.queues.get(name);
    if (!found) throw new Error(`There is no queue ${name}.`);
    return found;
  };

  /** Watches the webhook sender. @returns a function that lists the source queues of each batch with a matching body */
  const watchBatches = () => {
    const invoke = vi.spyOn(harness.stack.lambda, 'invoke');
    return (part: string): string[][] =>
      invoke.mock.calls
        .filter(([name]) => name === SENDER)
        .map(([, event]) => sqsEvent.parse(JSON.parse(event)).Records)
        .filter((records) => records.some(({ body }) => body.includes(part)))
        .map((records) => records.map(({ eventSourceARN }) => eventSourceARN.split(':').at(-1) ?? ''));
  };

  /** Collects the queues to which a function sends this action from now on. */
  const watchCalls = (caller: string, action: string): string[] => {
    const seen: string[] = [];
    harness.injectFault(throttled, (call) => {
      if (call.caller === `local-${caller}` && call.action === action) {
        seen.push(
          sqsRequest
            .parse(JSON.parse(call.body.toString('utf8')))
            .QueueUrl.split('/')
            .at(-1) ?? '',
        );
      }
      return false;
    });
    return seen;
  };

  it('receives a failed delivery, which is then delivered from it', async () => {
    const sink = await openSink((response, _request, index) => response.writeHead(index === 0 ? 500 : 200).end());
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    const batches = watchBatches();
    await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await until(async () => queue(RETRIES).counts.delayed || undefined);
    expect(await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'))).toMatchObject({
      attempt_count: 2,
    });
    expect(batches(id)).toEqual([[QUEUE], [RETRIES]]);
  });

  it('keeps a message after an internal error, without counting an attempt', async () => {
    const sink = await openSink((response, _request, index) => response.writeHead(index === 0 ? 500 : 200).end());
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
    await until(async () => queue(RETRIES).counts.delayed || undefined);
    const returnedTo = watchCalls(SENDER, 'ChangeMessageVisibility');
    const recover = harness.injectFault(
      throttled,
      ({ action, caller }) => action === 'BatchGetItem' && caller.includes(SENDER),
    );
    await harness.advanceUntil(until(async () => returnedTo[0]));
    recover();
    expect(await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'))).toMatchObject({
      attempt_count: 2,
    });
    expect(new Set(returnedTo)).toEqual(new Set([RETRIES]));
  });

  it('keeps a message while another worker holds the claim', async () => {
    let respond: () => void = () => undefined;
    const sink = await openSink((response, _request, index) => {
      if (index === 0) response.writeHead(500).end();
      else respond = () => response.end();
    });
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    const event = newAlarmEvent(client.tenant, [id]);
    await harness.sendEvents([event]);
    await harness.advanceUntil(sink.wait(2));
    const returnedTo = watchCalls(SENDER, 'ChangeMessageVisibility');
    const MessageBody = deliveryMessage(id, event);
    await harness.sqs.send(new SendMessageCommand({ QueueUrl: queue(RETRIES).settings.url, MessageBody }));
    await until(async () => queue(RETRIES).counts.inFlight === 2 || undefined);
    await harness.stack.advance(5_000);
    await until(async () => returnedTo[0]);
    respond();
    await harness.delivery(client.tenant, id, 'delivered');
    await harness.drainQueue(QUEUE);
    expect(returnedTo).toEqual([RETRIES]);
    expect(sink.received).toHaveLength(2);
  });

  it('uses few sandboxes for many hanging destinations and does not delay a first attempt of the same tenant', async () => {
    const hanging = 60;
    const hangingSink = await openSink((response, _request, index) => {
      if (index < hanging) response.writeHead(500).end();
    });
    const healthySink = await openSink();
    const slow = await client.create({ ...webhook, details: { url: hangingSink.url } });
    const quick = await client.create({ ...webhook, details: { url: healthySink.url } });
    const batches = watchBatches();
    await harness.sendEvents(Array.from({ length: hanging }, () => newAlarmEvent(client.tenant, [slow])));
    await until(async () => queue(RETRIES).counts.delayed === hanging || undefined);
    // The first step makes the messages visible, the second ends the batching window.
    await harness.stack.advance(10_000);
    await until(async () => queue(RETRIES).counts.inFlight === hanging || undefined);
    await harness.stack.advance(5_000);
    await hangingSink.wait(2 * hanging);
    const retried = batches(slow).filter((sources) => sources.includes(RETRIES));
    await until(async () => harness.stack.lambda.busy(SENDER) <= retried.length || undefined);

    await harness.sendEvents([newAlarmEvent(client.tenant, [quick])]);
    await healthySink.wait(1);
    expect(harness.stack.lambda.busy(SENDER)).toBeGreaterThan(0);
    expect(retried.flat()).toEqual(Array(hanging).fill(RETRIES));
    // One on an idle machine; on a busy one, the batching window can end before all are received.
    expect(retried.length).toBeLessThan(hanging / MAX_FIRST_BATCH);
    // On a busy machine, the sends can time out before, so that the first attempts of the tenant are moved.
    expect(batches(quick)[0]).toEqual([QUEUE]);
  });
});
