import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Command } from 'commander';
import * as z from 'zod';
import { documentOptions } from '../../shared/adapters/dynamodb/items.ts';
import { startLocalStackProcess } from '../support/local-stack-process.ts';
import { useStarted } from '../support/use-started.ts';

const REPOSITORY = new URL('../..', import.meta.url);

/** What the process of the command line receives for each command. */
export const commandRequest = z.object({
  args: z.array(z.string()).readonly(),
  input: z.string(),
  env: z.record(z.string(), z.string()),
});
const commandResult = z.object({ code: z.number(), out: z.string(), err: z.string() });

type CommandResult = z.infer<typeof commandResult>;

/** Creates a directory for the files of a test. The command line finds only the local stacks announced in it. */
export const useDirectory = () =>
  useStarted(
    () => ({ path: mkdtempSync(join(tmpdir(), 'ops-test-')) }),
    ({ path }) => rmSync(path, { recursive: true, force: true }),
  );

/** Starts the process that runs the commands of this worker. It ends with the worker. */
const startProcess = () => {
  const child = fork(new URL('command-server.ts', import.meta.url), { cwd: REPOSITORY, execArgv: [] });
  child.unref();
  child.channel?.unref();
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The command line ended its process with ${code}.`);
  });
  return { child, ended };
};
let commands: ReturnType<typeof startProcess> | undefined;
let previous: Promise<unknown> = Promise.resolve();

const runCommand = async (request: z.infer<typeof commandRequest>): Promise<CommandResult> => {
  commands ??= startProcess();
  const { child, ended } = commands;
  const message = once(child, 'message');
  child.send(request);
  const [result] = await Promise.race([message, ended]);
  return commandResult.parse(result);
};

/**
 * Returns a function that runs the command line in another process, without the AWS credentials, local stacks and color
 * settings of the test process. Commands run one after another.
 *
 * @param directory where local stacks are announced
 */
export const commandLine =
  (directory: { path: string }) =>
  (
    command: string | readonly string[],
    { input = '', env = {} }: { input?: string; env?: Record<string, string> } = {},
  ): Promise<CommandResult> => {
    const args = typeof command === 'string' ? command.split(' ') : command;
    const { PATH = '' } = process.env;
    const clean = { PATH, HOME: directory.path, TMPDIR: directory.path, AWS_EC2_METADATA_DISABLED: 'true' };
    const result = previous.then(() => runCommand({ args, input, env: { ...clean, ...env } }));
    previous = result.catch(() => undefined);
    return result;
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

/** Connects to the tables of a local stack. `tableNamed` finds a table by a part of its name. */
export const connectTables = async ({ aws_endpoint: endpoint }: { aws_endpoint: string }) => {
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const client = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials });
  const database = DynamoDBDocumentClient.from(client, documentOptions);
  const { TableNames = [] } = await client.send(new ListTablesCommand());
  const tableNamed = (part: string): string => TableNames.find((name) => name.includes(part)) ?? '';
  return { database, tableNamed };
};
