import * as z from 'zod';
import { connectApi } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { type LocalStackProcess, startLocalStackProcess } from '../support/local-stack-process.ts';
import { connectPipeline } from '../support/pipeline.ts';
import { type Arrivals, openArrivals } from './pipeline/arrivals.ts';
import { type Latency, measureJourneys, measureLatency } from './pipeline/latency.ts';
import { stageSection } from './pipeline/stages.ts';
import { startTracedStack } from './pipeline/traced-stack.ts';
import { hasAlertmanager, startAlertmanager } from './sender/alertmanager.ts';
import { median, type Section } from './support/report.ts';

/*
 * The pipeline of the local stack, from the alarm-events queue to a webhook: events per second, and the latency at a
 * steady rate compared with that of Prometheus Alertmanager. The stack runs in its own process. This process sends
 * events and receives webhooks, so that both use one clock.
 */

const ROUNDS = 3;
const EVENTS = 2_000;
const WARM_UP_EVENTS = 200;
const RATE = { perSecond: 50, seconds: 20 };
/** The number of concurrent producers. A single producer would be the bottleneck. */
const PRODUCERS = 4;
/** The tenant of the admin token of a local stack. */
const TENANT = 'acme';

const eventPayload = z.object({ event_id: z.string() });
const alertPayload = z.object({ alerts: z.tuple([z.object({ labels: z.object({ alertname: z.string() }) })]) });

const medianOf = (latencies: readonly Latency[], name: keyof Latency) =>
  median(latencies.map((latency) => latency[name]));

/** Connects to a local stack and creates one webhook. */
const connectWebhook = async (stack: LocalStackProcess, arrivals: Arrivals) => {
  const running = { ...stack, tables: [], queues: [] };
  const api = connectApi(running);
  const { sendEvents, sqs } = connectPipeline(running, api);
  const body = { label: 'Bench', type: 'webhook', details: { url: arrivals.url } };
  const created = await api.call('POST', '/notifications', { token: stack.tokens.admin, body });
  const id = created.headers.get('location')?.split('/').at(-1);
  if (created.status !== 201 || !id) throw new Error(`not created: ${created.status} ${created.text}`);

  let alarms = 0;
  const event = () => newAlarmEvent(TENANT, [id], { alarm: `al${++alarms}` });
  return {
    /** Sends one event. @returns its ID */
    async send() {
      const sent = event();
      await sendEvents([sent]);
      return sent.event_id;
    },
    /** Sends events as fast as possible. @returns the seconds until all were queued, and until all were delivered */
    async burst(count: number) {
      const events = Array.from({ length: count }, event);
      const startMs = performance.now();
      const share = Math.ceil(count / PRODUCERS);
      const shares = Array.from({ length: PRODUCERS }, (_, index) => events.slice(index * share, (index + 1) * share));
      await Promise.all(shares.map(sendEvents));
      const queuedMs = performance.now();
      const arrivedMs = await arrivals.of(events.map(({ event_id }) => event_id));
      return { queued: (queuedMs - startMs) / 1_000, delivered: (Math.max(...arrivedMs.values()) - startMs) / 1_000 };
    },
    async stop() {
      sqs.destroy();
      await stack.stop();
    },
  };
};

/** Starts Alertmanager with its own receiver. */
const startBaseline = async () => {
  const arrivals = await openArrivals((body) => alertPayload.parse(JSON.parse(body)).alerts[0].labels.alertname);
  const { post, stop } = await startAlertmanager({ url: arrivals.url, counts: async () => ({}) });
  return {
    arrivals,
    async send() {
      const [name] = await post(1);
      if (name === undefined) throw new Error('No alert was posted.');
      return name;
    },
    stop() {
      stop();
      arrivals.stop();
    },
  };
};

/** The number of traced events is smaller, because tracing each of them takes memory. */
const TRACED = { ...RATE, seconds: 10 };

/** Measures the stages of the path, in a stack of its own. */
const benchStages = async (arrivals: Arrivals): Promise<Section> => {
  const stack = await startTracedStack();
  const pipeline = await connectWebhook(stack, arrivals);
  try {
    await pipeline.burst(EVENTS);
    await measureLatency(arrivals, pipeline.send, TRACED);
    await stack.steps();
    const journeys = await measureJourneys(arrivals, pipeline.send, TRACED);
    return stageSection(journeys, await stack.steps());
  } finally {
    await pipeline.stop();
  }
};

export const benchPipeline = async (): Promise<Section[]> => {
  const arrivals = await openArrivals((body) => eventPayload.parse(JSON.parse(body)).event_id);
  const pipeline = await connectWebhook(await startLocalStackProcess(), arrivals);
  const alertmanager = hasAlertmanager() ? await startBaseline() : undefined;
  try {
    await pipeline.burst(WARM_UP_EVENTS);
    const warmUp = { ...RATE, seconds: WARM_UP_EVENTS / RATE.perSecond };
    await measureLatency(arrivals, pipeline.send, warmUp);
    if (alertmanager) await measureLatency(alertmanager.arrivals, alertmanager.send, warmUp);

    const bursts: { queued: number; delivered: number }[] = [];
    const latencies: Latency[] = [];
    const baselines: Latency[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      bursts.push(await pipeline.burst(EVENTS));
      latencies.push(await measureLatency(arrivals, pipeline.send, RATE));
      if (alertmanager) baselines.push(await measureLatency(alertmanager.arrivals, alertmanager.send, RATE));
    }

    const row = (name: string, rounds: readonly Latency[]) => [
      name,
      ...(['p50', 'p99', 'max'] as const).map((statistic) => medianOf(rounds, statistic).toFixed(1)),
    ];
    const ratio = (statistic: keyof Latency) =>
      (medianOf(latencies, statistic) / medianOf(baselines, statistic)).toFixed(2);
    return [
      {
        title: 'A burst of alarm events through the local stack',
        columns: ['', 'events/s', 'all queued after, s', 'all delivered after, s'],
        rows: [
          [
            `${EVENTS} events, one webhook each`,
            median(bursts.map(({ delivered }) => EVENTS / delivered)).toFixed(0),
            median(bursts.map(({ queued }) => queued)).toFixed(2),
            median(bursts.map(({ delivered }) => delivered)).toFixed(2),
          ],
        ],
        note: `${ROUNDS} rounds, medians. Each event has its own alarm. Each webhook arrived once.`,
      },
      {
        title: `From an alarm event to its webhook, ${RATE.perSecond} events/s`,
        columns: ['', 'p50 ms', 'p99 ms', 'max ms'],
        rows: [
          row('local stack, from before SendMessage', latencies),
          ...(alertmanager
            ? [
                row('Alertmanager, from before its POST', baselines),
                ['ratio', ratio('p50'), ratio('p99'), ratio('max')],
              ]
            : []),
        ],
        note: `${ROUNDS} rounds of ${RATE.seconds} s, medians, in turns. Each webhook arrived once.`,
      },
      await benchStages(arrivals),
    ];
  } finally {
    alertmanager?.stop();
    await pipeline.stop();
    arrivals.stop();
  }
};
