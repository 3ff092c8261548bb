import * as z from 'zod';
import { connectApi } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { startLocalStackProcess } from '../support/local-stack-process.ts';
import { connectPipeline } from '../support/pipeline.ts';
import { hasAlertmanager, startAlertmanager } from './support/alertmanager.ts';
import { openArrivals } from './support/arrivals.ts';
import { type Latency, measureLatency } from './support/latency.ts';
import { median, type Section } from './support/report.ts';
import { runRounds } from './support/rounds.ts';

const ROUNDS = 3;
const RATE = { perSecond: 50, seconds: 20 };
const WARM_UP = { ...RATE, seconds: 4 };
/** Events sent as fast as possible before each round, so that V8 has optimized the code. */
const BURST_EVENTS = 2_000;
/** The tenant of the admin token of a local stack. */
const TENANT = 'acme';
const STATISTICS = ['p50', 'p99', 'max'] as const;

/** Measures the latency at a steady rate after it has sent a burst. */
type Case = { warmUp: () => Promise<unknown>; run: () => Promise<Latency>; stop: () => unknown };

const eventPayload = z.object({ event_id: z.string() });
const alertPayload = z.object({ alerts: z.tuple([z.object({ labels: z.object({ alertname: z.string() }) })]) });

/** Starts a local stack in its own process, with one webhook. This process sends events and receives webhooks. */
const startPipeline = async (): Promise<Case> => {
  const arrivals = await openArrivals((body) => eventPayload.parse(JSON.parse(body)).event_id);
  const stack = await startLocalStackProcess();
  const api = connectApi({ ...stack, tables: [], queues: [] });
  const { sendEvents, sqs } = connectPipeline({ ...stack, tables: [], queues: [] }, api);
  const body = { label: 'Bench', type: 'webhook', details: { url: arrivals.url } };
  const created = await api.call('POST', '/notifications', { token: stack.tokens.admin, body });
  const id = created.headers.get('location')?.split('/').at(-1) ?? '';

  let alarms = 0;
  const send = async (count: number): Promise<string[]> => {
    const events = Array.from({ length: count }, () => newAlarmEvent(TENANT, [id], { alarm: `al${++alarms}` }));
    await sendEvents(events);
    return events.map(({ event_id }) => event_id);
  };
  const burst = async () => arrivals.of(await send(BURST_EVENTS));
  return {
    async warmUp() {
      await burst();
      await measureLatency(arrivals, send, WARM_UP);
    },
    async run() {
      await burst();
      return measureLatency(arrivals, send, RATE);
    },
    async stop() {
      sqs.destroy();
      await stack.stop();
      arrivals.stop();
    },
  };
};

const startBaseline = async (): Promise<Case> => {
  const arrivals = await openArrivals((body) => alertPayload.parse(JSON.parse(body)).alerts[0].labels.alertname);
  const { post, stop } = await startAlertmanager({ url: arrivals.url, counts: async () => ({}) });
  return {
    warmUp: () => measureLatency(arrivals, post, WARM_UP),
    run: () => measureLatency(arrivals, post, RATE),
    stop() {
      stop();
      arrivals.stop();
    },
  };
};

/**
 * Measures the latency from an alarm event to its webhook on a local stack, at a steady rate, compared with that of
 * Prometheus Alertmanager.
 */
export const benchPipeline = async (): Promise<Section> => {
  const cases = new Map([['local stack, from before SendMessage', await startPipeline()]]);
  if (hasAlertmanager()) cases.set('Alertmanager, from before its POST', await startBaseline());
  try {
    for (const { warmUp } of cases.values()) await warmUp();
    const latenciesOf = await runRounds(new Map([...cases].map(([name, { run }]) => [name, run])), ROUNDS);
    const measured = [...cases.keys()].map((name) => ({
      name,
      medians: STATISTICS.map((statistic) => median(latenciesOf(name).map((latency) => latency[statistic]))),
    }));
    const [own, baseline] = measured;
    const ratios = own?.medians.map((ms, index) => (ms / (baseline?.medians[index] ?? Number.NaN)).toFixed(2)) ?? [];
    return {
      title: `From an alarm event to its webhook, ${RATE.perSecond} events/s`,
      columns: ['', ...STATISTICS.map((statistic) => `${statistic} ms`)],
      rows: [
        ...measured.map(({ name, medians }) => [name, ...medians.map((ms) => ms.toFixed(1))]),
        ...(baseline ? [['ratio', ...ratios]] : []),
      ],
      note: `${ROUNDS} rounds of ${RATE.seconds} s, medians, in turns. Each webhook arrived once.`,
    };
  } finally {
    for (const { stop } of cases.values()) await stop();
  }
};
