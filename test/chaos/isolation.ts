import { createServer } from 'node:net';
import { startLocalStack } from '../../bin/local/stack.ts';
import { connectApi } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { connectPipeline } from '../support/pipeline.ts';
import { addressesOf } from '../support/running-stack.ts';
import { startSink } from '../support/sink.ts';
import { until } from '../support/until.ts';

/** How long ten alerts of a tenant take to arrive, from the first send to the last arrival, in ms. */
export type Isolation = { alone: number; besideHanging: number; hanging: number };

/** A server that takes connections and never answers. */
const openHanging = async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on('error', () => undefined).resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/`,
    connections: () => connections,
    close: () => server.close(),
  };
};

/**
 * Measures what one tenant's alerts to an endpoint that hangs cost another tenant, whose endpoint is well: the same ten
 * alerts alone, and right after `events` of the other were queued, in one run.
 */
export const measureIsolation = async (events: number, workers: number): Promise<Isolation> => {
  const stack = await startLocalStack({
    settings: { senderConcurrencyByType: `webhook=${workers}`, dispatchConcurrency: '4', deadLetterEmail: 'false' },
  });
  const running = addressesOf(stack);
  const api = connectApi(running);
  const pipeline = connectPipeline(running, api);
  const hanging = await openHanging();
  const sink = await startSink();
  try {
    const [noisy, quiet] = [await api.newClient(), await api.newClient()];
    const slow = await noisy.create({ label: 'hangs', type: 'webhook', details: { url: hanging.url } });
    const well = await quiet.create({ label: 'well', type: 'webhook', details: { url: sink.url } });
    const tenAlerts = async () => {
      const before = sink.received.length;
      const started = Date.now();
      await pipeline.sendEvents(Array.from({ length: 10 }, () => newAlarmEvent(quiet.tenant, [well])));
      const received = await sink.wait(before + 10);
      return Math.max(...received.map(({ at }) => at)) - started;
    };
    await tenAlerts(); // Warms the workers, so that a cold start is in neither figure.
    const alone = await tenAlerts();
    await pipeline.sendEvents(Array.from({ length: events }, () => newAlarmEvent(noisy.tenant, [slow])));
    await until(async () => hanging.connections() || undefined);
    const besideHanging = await tenAlerts();
    return { alone, besideHanging, hanging: hanging.connections() };
  } finally {
    hanging.close();
    sink.close();
    await stack.stop();
  }
};
