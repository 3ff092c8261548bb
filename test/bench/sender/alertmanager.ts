import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ChildServer } from '../support/child.ts';

const COMMAND = 'prometheus-alertmanager';

/** True where Alertmanager is installed (Debian: `apt-get install prometheus-alertmanager`). */
export const hasAlertmanager = (): boolean => spawnSync(COMMAND, ['--version']).status === 0;

/** One webhook for each alert, at once. */
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

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });

/** Clock ticks a second, in which Linux tells a process's CPU (`getconf CLK_TCK`). */
const TICKS = 100;

/** Prometheus Alertmanager with a webhook receiver: what it takes to send so many alerts. */
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
  while (!(await isReady())) await pause(50);

  const processFile = (name: string) => readFileSync(`/proc/${alertmanager.pid}/${name}`, 'utf8');
  const cpuSeconds = () => {
    const fields = processFile('stat').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / TICKS;
  };

  let sequence = 0;
  /** Its webhook repeats labels and annotations: with this text it is 2.5 KB, too. */
  const alert = () => ({
    labels: { alertname: `al${++sequence}`, tenant: 'tenant-1', entity: 'enWeb', severity: 'CRITICAL' },
    annotations: { summary: 'Disk is 97 % full', text: 'x'.repeat(900) },
    startsAt: new Date().toISOString(),
  });
  /** Posts alerts in one request. @returns their names */
  const post = async (amount: number): Promise<string[]> => {
    const alerts = Array.from({ length: amount }, alert);
    const body = JSON.stringify(alerts);
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    if (!answer.ok) throw new Error(`Alertmanager answered ${answer.status}.`);
    await answer.arrayBuffer();
    return alerts.map(({ labels }) => labels.alertname);
  };

  /** Its CPU at the end of the last run: what it does afterwards belongs to what it was told before, or to what comes next. */
  let counted = 0;

  return {
    post,
    /** Posts alerts in requests of a size, and waits until each has arrived at the sink. */
    async run({ batchSize, messages }: { batchSize: number; messages: number }) {
      await sink.counts();
      const [started, before] = [performance.now(), counted];
      for (let sent = 0; sent < messages; sent += batchSize) await post(batchSize);
      for (let arrived = 0; arrived < messages; await pause(5)) arrived += (await sink.counts()).requests ?? 0;
      counted = cpuSeconds();
      return {
        seconds: (performance.now() - started) / 1000,
        cpuSeconds: counted - before,
        peakMemory: Number(/VmHWM:\s+(\d+)/.exec(processFile('status'))?.[1]) / 1024,
      };
    },
    stop() {
      alertmanager.once('exit', () => rmSync(directory, { recursive: true, force: true }));
      alertmanager.kill();
    },
  };
};
