import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasAlertmanager, startAlertmanager } from './sender/alertmanager.ts';
import type { Slice, Taken } from './sender/driver.ts';
import { buildBeside, startDriver } from './sender/start-driver.ts';
import { type ChildServer, startChild } from './support/child.ts';
import { deployedFunctions } from './support/deployed.ts';
import { median, type Section } from './support/report.ts';
import { takeTurns } from './support/turns.ts';

/*
 * The webhook sender's bundle with batches of its queue: webhooks a second, CPU and memory, beside the SDK's part of it (the
 * claims alone), the least that sending can cost (a raw client), and Prometheus Alertmanager.
 */

const ROUNDS = 9;
const MESSAGES = 2_000;
/** Messages until a sandbox runs compiled code, which takes it a third less CPU: it lives for hours, and so for many more. */
const WARM_UP = 12_000;

/** Something that sends webhooks, or a part of it. */
type Sending = { run: (slice: Slice) => Promise<Omit<Taken, 'logBytes'>>; stop: () => void };

const perThousand = ({ cpuSeconds }: Pick<Taken, 'cpuSeconds'>, messages: number) => (cpuSeconds / messages) * 1_000;

/** Runs a slice, of which each message must arrive at the sink. */
const runToSink = async (sending: Sending, slice: Slice, sink: ChildServer) => {
  await sink.counts();
  const taken = await sending.run(slice);
  const { requests: arrived = 0 } = await sink.counts();
  if (arrived !== slice.messages) throw new Error(`${arrived} of ${slice.messages} webhooks arrived.`);
  return taken;
};

/** Runs it. @param profile where to write the sender's CPU profile, if at all */
export const benchSender = async (profile?: string): Promise<Section[]> => {
  const directory = mkdtempSync(join(tmpdir(), 'bench-sender-'));
  const built = buildBeside(directory, ['driver', 'claims-alone', 'raw-client']);
  const undo: (() => void)[] = [() => rmSync(directory, { recursive: true, force: true })];
  const opened = <Opened extends { stop: () => void }>(one: Opened): Opened => {
    undo.unshift(one.stop);
    return one;
  };

  /** The sender, set to an AWS and a sink of its own. */
  const startSender = async (sink: ChildServer) => {
    const aws = opened(await startChild('./aws-stub.ts', { destination: sink.url }));
    const { functions, remove } = deployedFunctions(aws.url, { egressAllow: '127.0.0.0/8' });
    undo.push(remove);
    const webhook = functions.find(({ name }) => name === 'send-webhook');
    if (!webhook) throw new Error('There is no webhook sender.');
    const start = async (bundle: string, environment: Record<string, string> = {}, profiledTo?: string) =>
      opened(await startDriver(built('driver'), bundle, { ...webhook.environment, ...environment }, profiledTo));
    return { aws, start, bundle: webhook.bundle };
  };

  const fast = async (): Promise<Section> => {
    const sink = opened(await startChild('./counting-sink.ts'));
    const { aws, start, bundle } = await startSender(sink);
    const sender = await start(bundle, {}, profile);
    const single = await start(bundle);
    const claims = await start(built('claims-alone'));
    const raw = await start(built('raw-client'), { DESTINATION: sink.url });
    const tens: Slice = { batchSize: 10, messages: MESSAGES };
    const ones: Slice = { batchSize: 1, messages: MESSAGES / 2 };
    const cases = new Map<string, { sending: Sending; slice: Slice }>([
      ['raw client loop', { sending: raw, slice: tens }],
      ['claims alone (SDK)', { sending: claims, slice: tens }],
      ['sender, batches of 10', { sending: sender, slice: tens }],
      ['sender, batches of 1', { sending: single, slice: ones }],
    ]);
    if (hasAlertmanager()) {
      cases.set('Alertmanager, posts of 10', { sending: opened(await startAlertmanager(sink)), slice: tens });
      cases.set('Alertmanager, posts of 1', { sending: opened(await startAlertmanager(sink)), slice: ones });
    }
    for (const { sending, slice } of cases.values()) await sending.run({ ...slice, messages: WARM_UP });
    const runs = new Map([...cases].map(([name, { sending, slice }]) => [name, () => sending.run(slice)]));
    const taken = await takeTurns(runs, ROUNDS);
    await runToSink(single, ones, sink);
    await aws.counts();
    await runToSink(sender, tens, sink);
    const calls = Object.entries(await aws.counts()).map(([action, count]) => `${action} ${count / MESSAGES}`);

    const cpu = (name: string) => {
      const messages = cases.get(name)?.slice.messages ?? MESSAGES;
      return median(taken(name).map((one) => perThousand(one, messages)));
    };
    const baseline = (name: string) =>
      cpu(name.endsWith('of 1') ? 'Alertmanager, posts of 1' : 'Alertmanager, posts of 10');
    const ratio = (name: string, amount: number) => (hasAlertmanager() ? (amount / baseline(name)).toFixed(2) : '–');
    const rows = [...cases].map(([name, { slice }]) => {
      const slices = taken(name);
      return [
        name,
        median(slices.map(({ seconds }) => slice.messages / seconds)).toFixed(0),
        cpu(name).toFixed(3),
        ratio(name, cpu(name)),
        Math.max(...slices.map(({ peakMemory }) => peakMemory)).toFixed(0),
      ];
    });
    const own = cpu('sender, batches of 10') - cpu('claims alone (SDK)');
    rows.push(['sender without its claims', '', own.toFixed(3), ratio('', own), '']);
    return {
      title: 'Sending webhooks of 2.5 KB to a receiver that answers at once',
      columns: ['', 'webhooks/s', 'CPU s per 1,000', 'to Alertmanager', 'peak MB'],
      rows,
      note: `AWS calls a webhook, batches of 10: ${calls.join(', ')}. ${ROUNDS} rounds of ${MESSAGES}, medians, taking turns.`,
    };
  };

  /** What a batch takes longer than the receiver does. */
  const slow = async (): Promise<Section> => {
    const rows: string[][] = [];
    for (const delay of [0, 50, 200]) {
      const sink = opened(await startChild('./counting-sink.ts', { delay }));
      const { start, bundle } = await startSender(sink);
      const sender = await start(bundle);
      const wall: number[] = [];
      const slice = { batchSize: 10, messages: 200 };
      await runToSink(sender, slice, sink);
      for (let round = 0; round < ROUNDS; round++) {
        const one = await runToSink(sender, slice, sink);
        wall.push((one.seconds * 1_000 * slice.batchSize) / slice.messages);
      }
      const batch = median(wall);
      rows.push([
        `${delay} ms`,
        batch.toFixed(1),
        delay > 0 ? (batch / delay).toFixed(2) : '–',
        (10_000 / batch).toFixed(0),
      ]);
    }
    return {
      title: 'A batch of 10 to slow receivers',
      columns: ['receiver answers after', 'batch, ms', 'to its slowest delivery', 'webhooks/s of one sandbox'],
      rows,
    };
  };

  try {
    return [await fast(), await slow()];
  } finally {
    for (const step of undo) step();
  }
};
