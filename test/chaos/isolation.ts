import { createServer } from 'node:net';
import { startLocalStack } from '../../bin/local/stack.ts';
import { connectApi } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { listenOnLoopback } from '../support/listen.ts';
import { connectPipeline } from '../support/pipeline.ts';
import { addressesOf } from '../support/running-stack.ts';
import { startSink } from '../support/sink.ts';
import { until } from '../support/until.ts';

/** The time until ten alerts of a tenant are delivered, and the number of alerts of the other tenant that hang. */
export type IsolationResult = { aloneMs: number; besideHangingMs: number; hanging: number };

/** Starts a server that accepts connections and never responds. */
const startHangingServer = async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on('error', () => undefined).resume();
  });
  const port = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${port}/`,
    connections: () => connections,
    close: () => server.close(),
  };
};

/**
 * Measures how much one tenant's alerts to an endpoint that hangs delay another tenant: ten alerts alone, and ten right
 * after `events` alerts of the other tenant were queued.
 */
export const measureIsolation = async (events: number, workers: number): Promise<IsolationResult> => {
  const stack = await startLocalStack({
    settings: { senderConcurrencyByType: `webhook=${workers}`, dispatchConcurrency: '4', deadLetterEmail: 'false' },
  });
  const running = addressesOf(stack);
  const api = connectApi(running);
  const pipeline = connectPipeline(running, api);
  const hanging = await startHangingServer();
  const sink = await startSink();
  try {
    const [noisy, quiet] = [await api.newClient(), await api.newClient()];
    const hangingId = await noisy.create({ label: 'hangs', type: 'webhook', details: { url: hanging.url } });
    const quietId = await quiet.create({ label: 'quiet', type: 'webhook', details: { url: sink.url } });
    const tenAlerts = async () => {
      const before = sink.received.length;
      const startMs = Date.now();
      await pipeline.sendEvents(Array.from({ length: 10 }, () => newAlarmEvent(quiet.tenant, [quietId])));
      const received = await sink.wait(before + 10);
      return Math.max(...received.map(({ atMs }) => atMs)) - startMs;
    };
    // Warms up the sandboxes, so that neither measurement contains a cold start.
    await tenAlerts();
    const aloneMs = await tenAlerts();
    await pipeline.sendEvents(Array.from({ length: events }, () => newAlarmEvent(noisy.tenant, [hangingId])));
    await until(() => hanging.connections() > 0);
    const besideHangingMs = await tenAlerts();
    return { aloneMs, besideHangingMs, hanging: hanging.connections() };
  } finally {
    hanging.close();
    sink.close();
    await stack.stop();
  }
};
