import { hasAlertmanager, startAlertmanager } from './support/alertmanager.ts';
import { startFunctions } from './support/functions.ts';
import { median, runRounds, type Section } from './support/report.ts';
import { sqsBatch } from './support/sqs-batch.ts';

const ROUNDS = 9;
/** Messages of a round, in batches of ten; half as many in batches of one. */
const MESSAGES = 2_000;
/**
 * Messages until V8 has optimized the code, which reduces CPU time by a third. An execution environment sends many
 * more.
 */
const WARM_UP_MESSAGES = 12_000;

type Load = { batchSize: number; messages: number };
type Measurement = { seconds: number; cpuSeconds: number };

type Case = { name: string; load: Load; run: (load: Load) => Promise<Measurement> };

const sumOf = (values: readonly number[]): number => values.reduce((left, right) => left + right, 0);

/**
 * Measures webhooks per second and CPU time of the webhook sender, compared with Prometheus Alertmanager, which
 * sends them in posts of as many alerts.
 */
export const benchSender = async (): Promise<Section> => {
  const { receiver, functionNamed, start, stop } = await startFunctions();
  const stops: (() => unknown)[] = [];

  const senderCase = (load: Load): Case => {
    const started = start(functionNamed('send-webhook'));
    stops.push(started.stop);
    return {
      name: `sender, batches of ${load.batchSize}`,
      load,
      async run({ batchSize, messages }) {
        await receiver.counts();
        const batches = Array.from({ length: messages / batchSize }, () => sqsBatch({ batchSize }));
        const invocations = await started.invoke(batches);
        const { requests = 0 } = await receiver.counts();
        if (requests !== messages) throw new Error(`${requests} of ${messages} webhooks arrived.`);
        return {
          seconds: sumOf(invocations.map(({ ms }) => ms)) / 1_000,
          cpuSeconds: sumOf(invocations.map(({ cpuMs }) => cpuMs)) / 1_000,
        };
      },
    };
  };
  const alertmanagerCase = async (load: Load): Promise<Case> => {
    const alertmanager = await startAlertmanager(receiver);
    stops.push(alertmanager.stop);
    return { name: `Alertmanager, posts of ${load.batchSize}`, load, run: alertmanager.run };
  };

  try {
    const loads = [
      { batchSize: 10, messages: MESSAGES },
      { batchSize: 1, messages: MESSAGES / 2 },
    ];
    const cases: Case[] = loads.map(senderCase);
    if (hasAlertmanager()) for (const load of loads) cases.push(await alertmanagerCase(load));
    for (const { run, load } of cases)
      for (let sent = 0; sent < WARM_UP_MESSAGES; sent += load.messages) await run(load);
    const measurementsOf = await runRounds(
      new Map(cases.map(({ name, load, run }) => [name, () => run(load)])),
      ROUNDS,
    );
    const perThousand = ({ name, load }: Case) =>
      (1_000 * median(measurementsOf(name).map(({ cpuSeconds }) => cpuSeconds))) / load.messages;
    return {
      title: 'Webhooks of 2.5 KB to a receiver that responds immediately',
      columns: ['', 'webhooks/s', 'CPU s per 1,000', 'relative to Alertmanager'],
      rows: cases.map((each) => {
        const baseline = cases.find(({ name, load }) => name.startsWith('Alert') && load === each.load);
        const measurements = measurementsOf(each.name);
        return [
          each.name,
          median(measurements.map(({ seconds }) => each.load.messages / seconds)).toFixed(0),
          perThousand(each).toFixed(3),
          baseline ? (perThousand(each) / perThousand(baseline)).toFixed(2) : '–',
        ];
      }),
      note: `${ROUNDS} rounds of ${MESSAGES} in batches of 10, and of half as many in batches of 1; medians, in turns.`,
    };
  } finally {
    await Promise.all(stops.map((each) => each()));
    stop();
  }
};
