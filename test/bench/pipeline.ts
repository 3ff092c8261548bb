import * as z from 'zod';
import { connectApi } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { startLocalStackProcess } from '../support/local-stack-process.ts';
import { connectPipeline } from '../support/pipeline.ts';
import { type Arrivals, openArrivals } from './pipeline/arrivals.ts';
import { type Latency, measureLatency } from './pipeline/latency.ts';
import { hasAlertmanager, startAlertmanager } from './sender/alertmanager.ts';
import { median, type Section } from './support/report.ts';

/*
 * The pipeline of the local stack, from the queue of alarm events to a webhook: events a second, and the latency at a steady
 * pace, beside that of Prometheus Alertmanager. The stack runs in a process of its own; events leave and webhooks arrive in
 * this one, so that there is one clock.
 */

const ROUNDS = 3;
const EVENTS = 2_000;
const WARM_UP = 200;
const PACE = { perSecond: 50, seconds: 20 };
/** Requests that put events on the queue at once: one alone would be what is measured. */
const LANES = 4;
/** The tenant of the first token in the stack's ready line. */
const TENANT = 'acme';

const eventPayload = z.object({ event_id: z.string() });
const alertPayload = z.object({ alerts: z.tuple([z.object({ labels: z.object({ alertname: z.string() }) })]) });

const middle = (figures: readonly Latency[], name: keyof Latency) => median(figures.map((figure) => figure[name]));

/** The whole stack, with one webhook of one tenant. */
const startPipeline = async (arrivals: Arrivals) => {
  const stack = await startLocalStackProcess();
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
    /** Puts one event on the queue. @returns its id */
    async send() {
      const one = event();
      await sendEvents([one]);
      return one.event_id;
    },
    /** Puts events on the queue as fast as it takes them, and waits for their webhooks. @returns seconds */
    async burst(amount: number) {
      const events = Array.from({ length: amount }, event);
      const started = performance.now();
      const lane = Math.ceil(amount / LANES);
      const lanes = Array.from({ length: LANES }, (_, index) => events.slice(index * lane, (index + 1) * lane));
      await Promise.all(lanes.map(sendEvents));
      const put = performance.now();
      const arrived = await arrivals.of(events.map((one) => one.event_id));
      return { put: (put - started) / 1_000, arrived: (Math.max(...arrived.values()) - started) / 1_000 };
    },
    async stop() {
      sqs.destroy();
      await stack.stop();
    },
  };
};

/** Alertmanager that sends to arrivals. */
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

/** Runs it. */
export const benchPipeline = async (): Promise<Section[]> => {
  const arrivals = await openArrivals((body) => eventPayload.parse(JSON.parse(body)).event_id);
  const pipeline = await startPipeline(arrivals);
  const alertmanager = hasAlertmanager() ? await startBaseline() : undefined;
  try {
    await pipeline.burst(WARM_UP);
    const short = { ...PACE, seconds: WARM_UP / PACE.perSecond };
    await measureLatency(arrivals, pipeline.send, short);
    if (alertmanager) await measureLatency(alertmanager.arrivals, alertmanager.send, short);

    const bursts: { put: number; arrived: number }[] = [];
    const latencies: Latency[] = [];
    const baselines: Latency[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      bursts.push(await pipeline.burst(EVENTS));
      latencies.push(await measureLatency(arrivals, pipeline.send, PACE));
      if (alertmanager) baselines.push(await measureLatency(alertmanager.arrivals, alertmanager.send, PACE));
    }

    const row = (name: string, figures: readonly Latency[]) => [
      name,
      ...(['p50', 'p99', 'max'] as const).map((figure) => middle(figures, figure).toFixed(1)),
    ];
    const ratio = (figure: keyof Latency) => (middle(latencies, figure) / middle(baselines, figure)).toFixed(2);
    return [
      {
        title: 'A burst of alarm events through the local stack',
        columns: ['', 'events/s', 'all on the queue after, s', 'all arrived after, s'],
        rows: [
          [
            `${EVENTS} events, a webhook each`,
            median(bursts.map(({ arrived }) => EVENTS / arrived)).toFixed(0),
            median(bursts.map(({ put }) => put)).toFixed(2),
            median(bursts.map(({ arrived }) => arrived)).toFixed(2),
          ],
        ],
        note: `${ROUNDS} rounds, medians. Each event is of an alarm of its own; each webhook arrived once.`,
      },
      {
        title: `From an alarm event to its webhook, ${PACE.perSecond} events/s`,
        columns: ['', 'p50 ms', 'p99 ms', 'max ms'],
        rows: [
          row('the local stack, from before SendMessage', latencies),
          ...(alertmanager
            ? [
                row('Alertmanager, from before its POST', baselines),
                ['ratio', ratio('p50'), ratio('p99'), ratio('max')],
              ]
            : []),
        ],
        note: `${ROUNDS} rounds of ${PACE.seconds} s, medians, taking turns. Each webhook arrived once.`,
      },
    ];
  } finally {
    alertmanager?.stop();
    await pipeline.stop();
    arrivals.stop();
  }
};
