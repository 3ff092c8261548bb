import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';

const root = new URL('../..', import.meta.url);

/** How a command ended. */
export type Ended = { code: number | null; out: string; err: string };

/** A directory for a test's files, in which only its own stacks are found. */
export const newDirectory = () => {
  const path = mkdtempSync(join(tmpdir(), 'ops-test-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
};

/** Nothing of the caller's: no credentials, no stacks, no colours. */
const cleanEnvironment = (directory: string) => ({
  PATH: process.env.PATH,
  HOME: directory,
  TMPDIR: directory,
  AWS_EC2_METADATA_DISABLED: 'true',
  // Compiling the same modules for every command takes longer than the commands.
  NODE_COMPILE_CACHE: join(directory, 'compiled'),
});

/** The operators' command line, as a process of its own, beside the stacks whose files lie in the directory. */
export const commandLine =
  (directory: string) =>
  async (
    command: string | readonly string[],
    { input = '', env = {} }: { input?: string; env?: Record<string, string> } = {},
  ): Promise<Ended> => {
    const words = typeof command === 'string' ? command.split(' ') : command;
    const child = spawn(process.execPath, ['bin/ops.ts', ...words], {
      cwd: root,
      env: { ...cleanEnvironment(directory), ...env },
    });
    child.stdin.end(input);
    const ended = once(child, 'close');
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    await ended;
    return { code: child.exitCode, out, err };
  };

const ready = z.object({
  base_url: z.url(),
  aws_endpoint: z.url(),
  inbox_url: z.url(),
  tokens: z.object({ admin: z.string() }),
});

/** Runs `npm start` as a process of its own, and the command line beside it. */
export const startStack = async () => {
  const directory = newDirectory();
  const child = spawn(process.execPath, ['bin/start.ts', '--json', '--port', '0', '-c', 'retryDelayScale=0.001'], {
    cwd: root,
    env: { ...process.env, TMPDIR: directory.path },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = once(child, 'exit');
  const [line] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    exited.then(() => Promise.reject(new Error('The stack did not start.'))),
  ]);
  const stack = ready.parse(JSON.parse(z.string().parse(line)));
  const ops = commandLine(directory.path);

  /** The answer to machines of a command that is expected to succeed. */
  const answer = async <Answer>(schema: z.ZodType<Answer>, command: string, input = ''): Promise<Answer> => {
    const { code, out, err } = await ops(`--json ${command}`, { input });
    if (code !== 0) throw new Error(`${command} ended with ${code}: ${err}`);
    return schema.parse(JSON.parse(out));
  };

  const stop = async (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> => {
    child.kill(signal);
    await exited;
  };
  return { ...stack, directory, ops, answer, stop };
};

/** Looks again and again until what is found fits. */
export const until = async <Value>(look: () => Promise<Value>, fits: (value: Value) => boolean): Promise<Value> => {
  while (true) {
    const value = await look();
    if (fits(value)) return value;
    await pause(100);
  }
};
