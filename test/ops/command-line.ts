import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import type * as z from 'zod';
import { startLocalStackProcess } from '../support/local-stack-process.ts';
import { useStarted } from '../support/use-started.ts';

const REPOSITORY = new URL('../..', import.meta.url);

/** The exit code and output of a command. */
export type CommandResult = { code: number | null; out: string; err: string };

/** Creates a directory for the files of a test. The command line finds only the local stacks announced in it. */
export const useDirectory = () =>
  useStarted(
    () => ({ path: mkdtempSync(join(tmpdir(), 'ops-test-')) }),
    ({ path }) => rmSync(path, { recursive: true, force: true }),
  );

/** Returns an environment without the AWS credentials, local stacks and color settings of the test process. */
const cleanEnvironment = (directory: string) => ({
  PATH: process.env.PATH,
  HOME: directory,
  TMPDIR: directory,
  AWS_EC2_METADATA_DISABLED: 'true',
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
});

/**
 * Returns a function that runs the command line in its own process.
 *
 * @param directory where local stacks are announced
 */
export const commandLine =
  (directory: { path: string }) =>
  async (
    command: string | readonly string[],
    { input = '', env = {} }: { input?: string; env?: Record<string, string> } = {},
  ): Promise<CommandResult> => {
    const args = typeof command === 'string' ? command.split(' ') : command;
    const child = spawn(process.execPath, ['bin/ops.ts', ...args], {
      cwd: REPOSITORY,
      env: { ...cleanEnvironment(directory.path), ...env },
    });
    child.stdin.end(input);
    const closed = once(child, 'close');
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    await closed;
    return { code: child.exitCode, out, err };
  };

/** Returns the names of all commands of a program that can be run, such as `token create`. */
export const commandNames = (command: Command, parents: readonly string[] = []): string[] =>
  command.commands.length === 0
    ? [parents.join(' ')]
    : command.commands.flatMap((child) => commandNames(child, [...parents, child.name()]));

/** Runs a local stack for the tests of a file, and the command line that uses it. */
export const useStackWithCommandLine = (settings: Readonly<Record<string, string>> = {}) => {
  const directory = useDirectory();
  const stack = useStarted(
    () => startLocalStackProcess({ retryDelayScale: '0.001', ...settings }, directory.path),
    ({ stop }) => stop(),
  );
  const ops = commandLine(directory);

  /** Runs a command with `--json`. @returns its parsed output @throws Error if the command fails */
  const runJson = async <Output>(schema: z.ZodType<Output>, command: string, input = ''): Promise<Output> => {
    const { code, out, err } = await ops(`--json ${command}`, { input });
    if (code !== 0) throw new Error(`${command} exited with ${code}: ${err}`);
    return schema.parse(JSON.parse(out));
  };

  return { stack, directory, ops, runJson };
};
