import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import * as z from 'zod';

const byToken = z.strictObject({
  admin: z.string(),
  creator: z.string(),
  observer: z.string(),
  other_admin: z.string(),
});

/** What `npm start -- --json` prints when the stack is ready. */
export const readyLine = z.strictObject({
  base_url: z.url(),
  tokens: byToken,
  tenants: byToken,
  aws_endpoint: z.url(),
  alarm_queue_url: z.url(),
  inbox_url: z.url(),
  aws_environment: z.record(z.string(), z.string()),
  docs_url: z.url(),
});

/** A local stack in its own process, as `npm start` runs it. */
export type LocalStackProcess = z.infer<typeof readyLine> & {
  /** Sends a signal, SIGTERM by default, and resolves after the process has exited. */
  stop: (signal?: 'SIGTERM' | 'SIGKILL') => Promise<void>;
};

const REPOSITORY = new URL('../..', import.meta.url);

/** Returns the arguments of `spawn` that run `npm start` with these options, and its files in a directory. */
export const localStackCommand = (options: readonly string[], directory: string) => ({
  file: process.execPath,
  args: ['bin/start.ts', ...options],
  // Under npm, the stack stops when its parent process ends: here, if the tests are killed.
  options: { cwd: REPOSITORY, env: { ...process.env, TMPDIR: directory, npm_lifecycle_event: 'start' } },
});

/**
 * Starts a local stack with settings of the CDK app, and waits until it is ready. The command line finds it in the
 * directory for its files, by default a new one, which is removed on stop. @throws Error with its log
 */
export const startLocalStackProcess = async (
  settings: Readonly<Record<string, string>> = {},
  directory?: string,
): Promise<LocalStackProcess> => {
  const ownDirectory = mkdtempSync(join(tmpdir(), 'local-stack-'));
  const logFile = join(ownDirectory, 'stderr.log');
  const settingOptions = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // A pipe would use CPU time in this process, which may be running a measurement.
  const { file, args, options } = localStackCommand(
    ['--json', '--port', '0', ...settingOptions],
    directory ?? ownDirectory,
  );
  const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', openSync(logFile, 'w')] });
  if (!child.stdout) throw new Error('The local stack has no standard output.');
  const exited = once(child, 'exit');
  const [line] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    exited.then(() => {
      throw new Error(`The local stack did not start: ${readFileSync(logFile, 'utf8')}`);
    }),
  ]);
  return {
    ...readyLine.parse(JSON.parse(z.string().parse(line))),
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      await exited;
      rmSync(ownDirectory, { recursive: true, force: true });
    },
  };
};
