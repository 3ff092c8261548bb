import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestProject } from 'vitest/node';
import * as z from 'zod';
import { listenOnLoopback } from '../support/listen.ts';

const PACKAGE = join(import.meta.dirname, 'node_modules/amplify-dynamodb-simulator');
const MAX_STARTS = 3;

declare module 'vitest' {
  export interface ProvidedContext {
    /** The URL of DynamoDB Local, in the project that runs it. */
    dynamoDbLocal?: string;
  }
}

/** The global setup of vitest. Starts DynamoDB Local; returns what stops it. */
export default async function startDynamoDbLocal(project: TestProject): Promise<() => Promise<void>> {
  install();
  const { url, stop } = await start(MAX_STARTS);
  project.provide('dynamoDbLocal', url);
  return stop;
}

/** Installs the package of DynamoDB Local, which `npm ci` in the root does not, unless this version is installed. */
const install = (): void => {
  const { devDependencies } = z
    .object({ devDependencies: z.record(z.string(), z.string()) })
    .parse(readJson(join(import.meta.dirname, 'package.json')));
  if (installedVersion() === devDependencies['amplify-dynamodb-simulator']) return;
  execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: import.meta.dirname, stdio: 'inherit' });
};

const installedVersion = (): string | undefined => {
  try {
    return z.object({ version: z.string() }).parse(readJson(join(PACKAGE, 'package.json'))).version;
  } catch {
    return undefined;
  }
};

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

/** Starts it on a free port, and again if another process takes the port first. */
const start = async (remaining: number): Promise<{ url: string; stop(): Promise<void> }> => {
  const port = await freePort();
  const java = spawn(
    'java',
    ['-Xmx1g', '-Djava.library.path=./DynamoDBLocal_lib', '-jar', 'DynamoDBLocal.jar', ...optionsOf(port)],
    { cwd: join(PACKAGE, 'emulator'), stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const failed = new Promise<never>((_, reject) => java.once('error', (error) => reject(javaError(error))));
  const stop = () => stopped(java);
  process.once('exit', () => java.kill());
  const url = `http://127.0.0.1:${port}`;
  if (await Promise.race([responds(java, url), failed])) return { url, stop };
  if (remaining === 1) throw new Error(`DynamoDB Local ended with the exit code ${java.exitCode}.`);
  return start(remaining - 1);
};

const optionsOf = (port: number): string[] => ['-port', String(port), '-inMemory', '-disableTelemetry'];

const freePort = async (): Promise<number> => {
  const server = createServer();
  const port = await listenOnLoopback(server);
  server.close();
  await once(server, 'close');
  return port;
};

const javaError = (error: NodeJS.ErrnoException): Error =>
  error.code === 'ENOENT' ? new Error('DynamoDB Local needs java: apt-get install default-jre-headless') : error;

/** Resolves to true when it responds, or to false when it has ended. */
const responds = async (java: ChildProcess, url: string): Promise<boolean> => {
  while (java.exitCode === null) {
    const response = await fetch(url).catch(() => undefined);
    if (response) return true;
    await sleep(100);
  }
  return false;
};

const stopped = async (java: ChildProcess): Promise<void> => {
  if (java.exitCode !== null || java.signalCode !== null) return;
  const exit = once(java, 'exit');
  java.kill();
  await exit;
};
