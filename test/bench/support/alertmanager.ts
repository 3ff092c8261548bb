import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { listenOnLoopback } from '../../support/listen.ts';
import type { ChildServer } from './child.ts';

const COMMAND = 'prometheus-alertmanager';

/** Returns whether Alertmanager is installed (Debian: `apt-get install prometheus-alertmanager`). */
export const hasAlertmanager = (): boolean => spawnSync(COMMAND, ['--version']).status === 0;

/** Sends one webhook per alert, without grouping delay. */
const configuration = (url: string) => `
route:
  receiver: sink
  group_by: ['...']
  group_wait: 0s
  group_interval: 5m
  repeat_interval: 24h
receivers:
  - name: sink
    webhook_configs: [{ url: '${url}', send_resolved: false }]
`;

const freePort = async (): Promise<number> => {
  const server = createServer();
  const port = await listenOnLoopback(server);
  server.close();
  await once(server, 'close');
  return port;
};

/** The unit of CPU times in /proc (`getconf CLK_TCK`). */
const TICKS_PER_SECOND = 100;

export const startAlertmanager = async (sink: Pick<ChildServer, 'url' | 'counts'>) => {
  const directory = mkdtempSync(join(tmpdir(), 'alertmanager-'));
  const file = join(directory, 'alertmanager.yml');
  writeFileSync(file, configuration(sink.url));
  const address = `127.0.0.1:${await freePort()}`;
  const alertmanager = spawn(
    COMMAND,
    [
      `--config.file=${file}`,
      `--storage.path=${directory}`,
      `--web.listen-address=${address}`,
      '--cluster.listen-address=',
      '--log.level=error',
    ],
    { stdio: 'ignore' },
  );
  const url = `http://${address}/api/v2/alerts`;
  const isReady = () =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    if (alertmanager.exitCode !== null) throw new Error(`Alertmanager exited with ${alertmanager.exitCode}.`);
    await sleep(50);
  }

  const cpuSeconds = () => {
    const fields = readFileSync(`/proc/${alertmanager.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  };

  let sequence = 0;
  /** The webhook contains labels and annotations twice. With this text, it has about 2.5 KB, like an alarm event. */
  const alert = () => ({
    labels: { alertname: `al${++sequence}`, tenant: 'tenant-1', entity: 'enWeb', severity: 'CRITICAL' },
    annotations: { summary: 'Disk is 97% full', text: 'x'.repeat(900) },
    startsAt: new Date().toISOString(),
  });
  const post = async (count: number): Promise<void> => {
    const body = JSON.stringify(Array.from({ length: count }, alert));
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    if (!response.ok) throw new Error(`Alertmanager responded ${response.status}.`);
    await response.arrayBuffer();
  };

  /** The CPU time at the end of the last run. Work between runs counts toward the next run. */
  let measuredCpuSeconds = 0;

  return {
    /** Posts alerts in batches, and waits until each arrives at the sink. */
    async run({ batchSize, messages }: { batchSize: number; messages: number }) {
      await sink.counts();
      const [startMs, cpuSecondsBefore] = [performance.now(), measuredCpuSeconds];
      for (let sent = 0; sent < messages; sent += batchSize) await post(batchSize);
      for (let arrived = 0; arrived < messages; await sleep(5)) arrived += (await sink.counts()).requests ?? 0;
      measuredCpuSeconds = cpuSeconds();
      return {
        seconds: (performance.now() - startMs) / 1000,
        cpuSeconds: measuredCpuSeconds - cpuSecondsBefore,
      };
    },
    stop() {
      alertmanager.once('exit', () => rmSync(directory, { recursive: true, force: true }));
      alertmanager.kill();
    },
  };
};
