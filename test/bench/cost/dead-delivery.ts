import { setTimeout as pause } from 'node:timers/promises';
import { startLocalStack } from '../../../bin/local/stack.ts';
import { connectApi, webhook } from '../../support/api.ts';
import { newAlarmEvent } from '../../support/events.ts';
import { connectPipeline } from '../../support/pipeline.ts';
import { addressesOf } from '../../support/running-stack.ts';
import { startSink } from '../../support/sink.ts';
import { meter } from './meter.ts';
import { noUnits, sum, type Units } from './prices.ts';

const DELIVERIES = 40;
/** Dead ones travel among living ones. */
const BATCH = 10;
/** How far the stack's time is moved at once, in ms. */
const STEP = 60_000;

/** What one delivery to a destination that never takes anything costs, from its first attempt to its dead letter. */
export type DeadDelivery = { units: Units; messages: number; attempts: number };

/**
 * Lets the whole stack give deliveries up by its real schedule, with its time moved forward, and counts what the senders call.
 *
 * @param perMessage what a message costs that is delivered at once: as long runs one of these, batched among the living
 * @param platformLog what Lambda logs of an invocation, in bytes
 */
export const deadDelivery = async ({
  perMessage,
  platformLog,
}: {
  perMessage: Units;
  platformLog: number;
}): Promise<DeadDelivery> => {
  const logged = { bytes: 0 };
  const stack = await startLocalStack({
    rawLog: (line) => {
      logged.bytes += Buffer.byteLength(line) + 1;
    },
  });
  const sink = await startSink((response) => response.writeHead(500).end());
  const running = addressesOf(stack);
  const api = connectApi(running);
  const pipeline = connectPipeline(running, api);
  const client = await api.newClient();
  const id = await client.create({ ...webhook, details: { url: sink.url } });

  let called = noUnits;
  let messages = 0;
  stack.endpoint.fault = ({ caller, service, action, body }) => {
    if (!caller.includes('send-')) return undefined;
    const text = body.toString('utf8');
    const speaksJson = service === 'dynamodb' || service === 'sqs';
    const request: unknown = speaksJson ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text));
    called = sum([called, 1], [meter(action, request), 1]);
    if (action === 'SendMessage') messages++;
    return undefined;
  };

  try {
    const events = Array.from({ length: DELIVERIES }, (_, index) =>
      newAlarmEvent(client.tenant, [id], { alarm: `al${index}` }),
    );
    await pipeline.sendEvents(events);
    const countDead = async () =>
      (await pipeline.deliveries(client.tenant, id)).filter(({ status }) => status === 'failed').length;
    while ((await countDead()) < DELIVERIES) {
      // Not while anybody works: leases that are held would end.
      if (stack.lambda.busy() === 0) stack.advance(STEP);
      await pause(20);
    }
    const attempts = sink.received.length / DELIVERIES;
    // Each message that a sender sent is received by one, but for the dead letters; the first ones came from the dispatch.
    const received = messages / DELIVERIES;
    const invocations = received / BATCH;
    return {
      messages: received,
      attempts,
      units: sum(
        [called, 1 / DELIVERIES],
        [{ lambdaGbSeconds: perMessage.lambdaGbSeconds }, received],
        [{ lambdaRequests: 1, sqsRequests: 2, logBytes: platformLog }, invocations],
        [{ logBytes: logged.bytes }, 1 / DELIVERIES],
      ),
    };
  } finally {
    sink.close();
    await stack.stop();
  }
};
