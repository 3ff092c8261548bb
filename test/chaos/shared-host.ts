import { setTimeout as sleep } from 'node:timers/promises';
import { startLocalStack } from '../../bin/local/stack.ts';
import { connectApi } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { percentile } from '../support/percentile.ts';
import { connectPipeline } from '../support/pipeline.ts';
import { addressesOf } from '../support/running-stack.ts';
import { payload, type Received, startSink } from '../support/sink.ts';

/** Latencies of alerts in ms, and how many had not arrived `GRACE_MS` after the last event. */
export type Arrivals = { p50: number; p99: number; max: number; waiting: number };

/** The alerts of a tenant: first attempts, from the event on, and second attempts, from the first on. */
type Phase = { firstAttempts: Arrivals; retries: Arrivals };

/** The alerts of a tenant alone, and beside a tenant whose path on the same host hangs. */
export type SharedHostResult = {
  alone: Phase;
  besideHanging: Phase;
  /** Requests to the path that hangs. */
  hanging: number;
};

const HANGING_INTERVAL_MS = 2_000;
const INTERVAL_MS = 1_000;
/** By then, circuits have opened and closed, and the first retries of the path that hangs are due. */
const WARM_UP_MS = 60_000;
const GRACE_MS = 60_000;

const eventIdOf = ({ body }: Received): string => payload.parse(JSON.parse(body)).event_id;

const arrivalsOf = (latenciesMs: readonly number[], expected: number): Arrivals => ({
  p50: percentile(latenciesMs, 0.5),
  p99: percentile(latenciesMs, 0.99),
  max: Math.max(...latenciesMs),
  waiting: expected - latenciesMs.length,
});

/**
 * Measures how much a tenant whose path hangs delays another tenant on the same host and port, with ten concurrent
 * batches and one alert to the hanging path every two seconds. The other tenant has one event per second for two
 * notifications: one path answers at once, the other answers 500 to the first request of each event. Takes two seconds
 * per event and about two minutes.
 *
 * @param events the number of events of the other tenant, alone and beside the path that hangs
 */
export const measureSharedHost = async (events: number): Promise<SharedHostResult> => {
  const stack = await startLocalStack({
    settings: { senderConcurrencyByType: 'webhook=10', deadLetterEmail: 'false', failingNotices: 'false' },
  });
  const running = addressesOf(stack);
  const api = connectApi(running);
  const pipeline = connectPipeline(running, api);
  const firstFailureAtMs = new Map<string, number>();
  const sink = await startSink((response, request) => {
    if (request.path === '/hang') return;
    const id = eventIdOf(request);
    if (request.path === '/fast' || firstFailureAtMs.has(id)) {
      response.end();
      return;
    }
    firstFailureAtMs.set(id, request.atMs);
    response.writeHead(500).end();
  });
  try {
    const [noisy, quiet] = [await api.newClient(), await api.newClient()];
    const webhookAt = (client: typeof quiet, path: string) =>
      client.create({ label: path, type: 'webhook', details: { url: `${sink.url}${path}` } });
    const hangingId = await webhookAt(noisy, '/hang');
    const quietIds = [await webhookAt(quiet, '/fast'), await webhookAt(quiet, '/fails-once')];

    const measure = async (): Promise<Phase> => {
      const sentAtMs = new Map<string, number>();
      for (let index = 0; index < events; index++) {
        const event = newAlarmEvent(quiet.tenant, quietIds);
        sentAtMs.set(event.event_id, Date.now());
        await pipeline.sendEvents([event]);
        await sleep(INTERVAL_MS);
      }
      const latencies = (path: string, sinceMs: ReadonlyMap<string, number>): number[] =>
        sink.received
          .filter((request) => request.path === path && sentAtMs.has(eventIdOf(request)))
          .map((request) => request.atMs - (sinceMs.get(eventIdOf(request)) ?? Number.NaN));
      const phase = (): Phase => ({
        firstAttempts: arrivalsOf(latencies('/fast', sentAtMs), events),
        // The first attempt itself has the latency 0.
        retries: arrivalsOf(
          latencies('/fails-once', firstFailureAtMs).filter((latencyMs) => latencyMs > 0),
          events,
        ),
      });
      const deadlineMs = Date.now() + GRACE_MS;
      while (Date.now() < deadlineMs && Object.values(phase()).some(({ waiting }) => waiting > 0)) await sleep(200);
      return phase();
    };

    // Warms up the sandboxes.
    await pipeline.sendEvents(Array.from({ length: 30 }, () => newAlarmEvent(quiet.tenant, quietIds)));
    await sink.wait(30, ({ path }) => path === '/fast');
    const alone = await measure();
    const sendToHanging = () => void pipeline.sendEvents([newAlarmEvent(noisy.tenant, [hangingId])]);
    const timer = setInterval(sendToHanging, HANGING_INTERVAL_MS);
    try {
      await sleep(WARM_UP_MS);
      const besideHanging = await measure();
      return { alone, besideHanging, hanging: sink.received.filter(({ path }) => path === '/hang').length };
    } finally {
      clearInterval(timer);
    }
  } finally {
    sink.close();
    await stack.stop();
  }
};
