import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasAlertmanager, startAlertmanager } from './sender/alertmanager.ts';
import type { Load, Measurement } from './sender/driver.ts';
import { buildBeside, startDriver } from './sender/start-driver.ts';
import { type ChildServer, startChild } from './support/child.ts';
import { deployedFunctions } from './support/deployed.ts';
import { median, type Section } from './support/report.ts';
import { runRounds } from './support/rounds.ts';

/*
 * The bundle of the webhook sender: webhooks per second, CPU time and memory, compared with the share of claims, the
 * minimum (a raw HTTP client), and Prometheus Alertmanager.
 */

const ROUNDS = 9;
const MESSAGES = 2_000;
/** Messages until V8 has optimized the code, which reduces CPU time by a third. A sandbox sends many more. */
const WARM_UP_MESSAGES = 12_000;

/** A process that sends webhooks, or performs part of the work. */
type SenderProcess = { run: (load: Load) => Promise<Omit<Measurement, 'logBytes'>>; stop: () => void };

const perThousand = ({ cpuSeconds }: Pick<Measurement, 'cpuSeconds'>, messages: number) =>
  (cpuSeconds / messages) * 1_000;

/** Runs a load and checks that every webhook arrives at the sink. */
const runToSink = async (sender: SenderProcess, load: Load, sink: ChildServer) => {
  await sink.counts();
  const measurement = await sender.run(load);
  const { requests: arrived = 0 } = await sink.counts();
  if (arrived !== load.messages) throw new Error(`${arrived} of ${load.messages} webhooks arrived.`);
  return measurement;
};

/** Runs the benchmark. @param profile the folder for a CPU profile of the sender */
export const benchSender = async (profile?: string): Promise<Section[]> => {
  const directory = mkdtempSync(join(tmpdir(), 'bench-sender-'));
  const built = buildBeside(directory, ['driver', 'claims-alone', 'raw-client']);
  const cleanup: (() => void)[] = [() => rmSync(directory, { recursive: true, force: true })];
  const stopAfterwards = <Started extends { stop: () => void }>(started: Started): Started => {
    cleanup.unshift(started.stop);
    return started;
  };

  /** Prepares the sender with its own AWS stub. */
  const startSender = async (sink: ChildServer) => {
    const aws = stopAfterwards(await startChild('./aws-stub.ts', { destination: sink.url }));
    const { functions, remove } = deployedFunctions(aws.url, { egressAllow: '127.0.0.0/8' });
    cleanup.push(remove);
    const webhook = functions.find(({ name }) => name === 'send-webhook');
    if (!webhook) throw new Error('There is no webhook sender.');
    const start = async (bundle: string, environment: Record<string, string> = {}, profileFolder?: string) =>
      stopAfterwards(
        await startDriver(built('driver'), bundle, { ...webhook.environment, ...environment }, profileFolder),
      );
    return { aws, start, bundle: webhook.bundle };
  };

  const fast = async (): Promise<Section> => {
    const sink = stopAfterwards(await startChild('./counting-sink.ts'));
    const { aws, start, bundle } = await startSender(sink);
    const sender = await start(bundle, {}, profile);
    const single = await start(bundle);
    const claims = await start(built('claims-alone'));
    const raw = await start(built('raw-client'), { DESTINATION: sink.url });
    const tens: Load = { batchSize: 10, messages: MESSAGES };
    const ones: Load = { batchSize: 1, messages: MESSAGES / 2 };
    const cases = new Map<string, { sender: SenderProcess; load: Load }>([
      ['raw client loop', { sender: raw, load: tens }],
      ['claims alone', { sender: claims, load: tens }],
      ['sender, batches of 10', { sender, load: tens }],
      ['sender, batches of 1', { sender: single, load: ones }],
    ]);
    if (hasAlertmanager()) {
      cases.set('Alertmanager, posts of 10', { sender: stopAfterwards(await startAlertmanager(sink)), load: tens });
      cases.set('Alertmanager, posts of 1', { sender: stopAfterwards(await startAlertmanager(sink)), load: ones });
    }
    for (const { sender: each, load } of cases.values()) await each.run({ ...load, messages: WARM_UP_MESSAGES });
    const runs = new Map([...cases].map(([name, { sender: each, load }]) => [name, () => each.run(load)]));
    const measurementsOf = await runRounds(runs, ROUNDS);
    await runToSink(single, ones, sink);
    await aws.counts();
    await runToSink(sender, tens, sink);
    const calls = Object.entries(await aws.counts()).map(([action, count]) => `${action} ${count / MESSAGES}`);

    const cpu = (name: string) => {
      const messages = cases.get(name)?.load.messages ?? MESSAGES;
      return median(measurementsOf(name).map((measurement) => perThousand(measurement, messages)));
    };
    const baseline = (name: string) =>
      cpu(name.endsWith('of 1') ? 'Alertmanager, posts of 1' : 'Alertmanager, posts of 10');
    const ratio = (name: string, cpuSeconds: number) =>
      hasAlertmanager() ? (cpuSeconds / baseline(name)).toFixed(2) : '–';
    const rows = [...cases].map(([name, { load }]) => {
      const measurements = measurementsOf(name);
      return [
        name,
        median(measurements.map(({ seconds }) => load.messages / seconds)).toFixed(0),
        cpu(name).toFixed(3),
        ratio(name, cpu(name)),
        Math.max(...measurements.map(({ peakMb }) => peakMb)).toFixed(0),
      ];
    });
    const withoutClaims = cpu('sender, batches of 10') - cpu('claims alone');
    rows.push(['sender without claims', '', withoutClaims.toFixed(3), ratio('', withoutClaims), '']);
    return {
      title: 'Webhooks of 2.5 KB to a receiver that responds immediately',
      columns: ['', 'webhooks/s', 'CPU s per 1,000', 'relative to Alertmanager', 'peak MB'],
      rows,
      note: `AWS calls per webhook in batches of 10: ${calls.join(', ')}. ${ROUNDS} rounds of ${MESSAGES}, medians, in turns.`,
    };
  };

  /** Measures how much longer a batch takes than the response of the receiver. */
  const slow = async (): Promise<Section> => {
    const rows: string[][] = [];
    for (const delayMs of [0, 50, 200]) {
      const sink = stopAfterwards(await startChild('./counting-sink.ts', { delayMs }));
      const { start, bundle } = await startSender(sink);
      const sender = await start(bundle);
      const batchTimesMs: number[] = [];
      const load = { batchSize: 10, messages: 200 };
      await runToSink(sender, load, sink);
      for (let round = 0; round < ROUNDS; round++) {
        const { seconds } = await runToSink(sender, load, sink);
        batchTimesMs.push((seconds * 1_000 * load.batchSize) / load.messages);
      }
      const batchMs = median(batchTimesMs);
      rows.push([
        `${delayMs} ms`,
        batchMs.toFixed(1),
        delayMs > 0 ? (batchMs / delayMs).toFixed(2) : '–',
        (10_000 / batchMs).toFixed(0),
      ]);
    }
    return {
      title: 'A batch of 10 to slow receivers',
      columns: [
        'receiver responds after',
        'batch, ms',
        'relative to its slowest delivery',
        'webhooks/s of one sandbox',
      ],
      rows,
    };
  };

  try {
    return [await fast(), await slow()];
  } finally {
    for (const step of cleanup) step();
  }
};
