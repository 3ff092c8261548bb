// The simulation checks how long first attempts of other tenants wait, not those of the same one.
import { describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { webhook } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { useStarted } from '../support/use-started.ts';
import { useFaultyStack } from './support.ts';

const QUEUE = 'Delivery-webhook';
const RETRIES = 'Delivery-webhook-Retries';
const SENDER = 'Delivery-send-webhook';
const MAX_FIRST_BATCH = 10;

const sqsEvent = z.object({ Records: z.array(z.object({ eventSourceARN: z.string(), body: z.string() })) });

const harness = useFaultyStack({ retryDelayScale: '1', senderConcurrencyByType: 'webhook=3' });
const client = useStarted(() => harness.newClient());

describe('the retry queue', () => {
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

  it('uses few execution environments for many hanging destinations and does not delay a first attempt of the same tenant', async () => {
    const hanging = 60;
    const hangingSink = await openSink((response, _request, index) => {
      if (index < hanging) response.writeHead(500).end();
    });
    const healthySink = await openSink();
    const slow = await client.create({ ...webhook, details: { url: hangingSink.url } });
    const quick = await client.create({ ...webhook, details: { url: healthySink.url } });
    const batches = watchBatches();
    await harness.sendEvents(Array.from({ length: hanging }, () => newAlarmEvent(client.tenant, [slow])));
    await until(async () => harness.queue(RETRIES).counts.delayed === hanging || undefined);
    // The first step makes the messages visible, the second ends the batching window.
    await harness.stack.advance(10_000);
    await until(async () => harness.queue(RETRIES).counts.inFlight === hanging || undefined);
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
