import { setTimeout as sleep } from 'node:timers/promises';
import { startLocalStack } from '../../../bin/local/stack.ts';
import { connectApi, webhook } from '../../support/api.ts';
import { newAlarmEvent } from '../../support/events.ts';
import { connectPipeline } from '../../support/pipeline.ts';
import { addressesOf } from '../../support/running-stack.ts';
import { startSink } from '../../support/sink.ts';
import { meter } from './meter.ts';
import { noUnits, sum, type Units } from './prices.ts';

const DELIVERIES = 40;
/** Failed deliveries share their batches with others. */
const BATCH_SIZE = 10;
/** How far to advance the clock of the stack when no function is running. */
const ADVANCE_MS = 60_000;

/** The cost of a delivery that fails from its first attempt until it is dead-lettered. */
export type FailedDelivery = { units: Units; messages: number; attempts: number };

/**
 * Runs the real retry schedule of a local stack by advancing its clock, and meters the calls of the senders.
 *
 * @param perMessage the units of a delivered message; a failed attempt is assumed to have the same duration
 */
export const measureFailedDelivery = async ({
  perMessage,
  platformLogBytes,
}: {
  perMessage: Units;
  platformLogBytes: number;
}): Promise<FailedDelivery> => {
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

  let meteredUnits = noUnits;
  let messages = 0;
  stack.endpoint.fault = ({ caller, service, action, body }) => {
    if (!caller.includes('send-')) return undefined;
    const text = body.toString('utf8');
    const isJson = service === 'dynamodb' || service === 'sqs';
    const request: unknown = isJson ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text));
    meteredUnits = sum([meteredUnits, 1], [meter(action, request), 1]);
    if (action === 'SendMessage') messages++;
    return undefined;
  };

  try {
    const events = Array.from({ length: DELIVERIES }, (_, index) =>
      newAlarmEvent(client.tenant, [id], { alarm: `al${index}` }),
    );
    await pipeline.sendEvents(events);
    const countFailed = async () =>
      (await pipeline.deliveries(client.tenant, id)).filter(({ status }) => status === 'failed').length;
    while ((await countFailed()) < DELIVERIES) {
      // Advancing the clock while a function runs would expire its leases.
      if (stack.lambda.busy() === 0) await stack.advance(ADVANCE_MS);
      await sleep(20);
    }
    const attempts = sink.received.length / DELIVERIES;
    // The first message comes from dispatch, and the last one is the dead letter: as many are received as sent.
    const received = messages / DELIVERIES;
    const invocations = received / BATCH_SIZE;
    return {
      messages: received,
      attempts,
      units: sum(
        [meteredUnits, 1 / DELIVERIES],
        [{ lambdaGbSeconds: perMessage.lambdaGbSeconds }, received],
        [{ lambdaRequests: 1, sqsRequests: 2, logBytes: platformLogBytes }, invocations],
        [{ logBytes: logged.bytes }, 1 / DELIVERIES],
      ),
    };
  } finally {
    sink.close();
    await stack.stop();
  }
};
