import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import * as z from 'zod';

const ready = z.object({
  base_url: z.url(),
  tokens: z.object({ admin: z.string(), other_admin: z.string() }),
  aws_endpoint: z.url(),
  alarm_queue_url: z.url(),
});

/** The whole local stack in a process of its own: its ready line, and its end. */
export type StackProcess = z.infer<typeof ready> & { stop: () => Promise<void> };

const START = resolve(import.meta.dirname, '../../../bin/start.ts');

/** Starts the stack as `npm start` does. @param settings of the CDK app */
export const startStackProcess = async (settings: Record<string, string> = {}): Promise<StackProcess> => {
  const directory = mkdtempSync(join(tmpdir(), 'bench-stack-'));
  const logFile = join(directory, 'stderr.log');
  const set = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // Its log goes into a file: a pipe would have to be read here, at the cost of what measures.
  const child = spawn(process.execPath, [START, '--json', '--port', '0', ...set], {
    stdio: ['ignore', 'pipe', openSync(logFile, 'w')],
  });
  if (!child.stdout) throw new Error('The stack has no output.');
  const exited = once(child, 'exit');
  const [line] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    exited.then(() => {
      throw new Error(`The stack did not start: ${readFileSync(logFile, 'utf8')}`);
    }),
  ]);
  return {
    ...ready.parse(JSON.parse(z.string().parse(line))),
    async stop() {
      child.kill('SIGTERM');
      await exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
};
