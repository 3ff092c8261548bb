import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Assembly, readAssembly } from '../../bin/local/assembly-files.ts';

const LOOPBACK_ORIGIN = /http:\/\/127\.0\.0\.1:\d+/g;

/** Replaces the ports of loopback addresses, so that stacks with other servers have the same settings. */
const withFixedPorts = (settings: Record<string, string>) => {
  const text = JSON.stringify(settings);
  const origins = [...new Set(text.match(LOOPBACK_ORIGIN))];
  const fixedOrigin = (index: number): string => `http://127.0.0.1:${60_001 + index}`;
  const actual = new Map(origins.map((origin, index) => [fixedOrigin(index), origin]));
  return {
    settings: text.replace(LOOPBACK_ORIGIN, (origin) => fixedOrigin(origins.indexOf(origin))),
    restore: (template: unknown): unknown =>
      JSON.parse(JSON.stringify(template).replace(LOOPBACK_ORIGIN, (origin) => actual.get(origin) ?? origin)),
  };
};

const wait = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Creates a directory with `create`, unless another process has created it or is doing so. */
const createOnce = (directory: string, create: (temporary: string) => void): void => {
  const temporary = `${directory}.new`;
  while (!existsSync(directory)) {
    try {
      mkdirSync(temporary);
    } catch {
      wait(50);
      continue;
    }
    try {
      if (existsSync(directory)) break;
      create(temporary);
      renameSync(temporary, directory);
    } finally {
      rmSync(temporary, { recursive: true, force: true });
    }
  }
};

/** Returns the stack with these settings, which is synthesized once in a test run, in a process of its own. */
export const sharedAssembly = (settings: Record<string, string>): Assembly => {
  const fixed = withFixedPorts(settings);
  const key = createHash('sha256').update(fixed.settings).digest('hex').slice(0, 16);
  const directory = join(process.env.SHARED_BUILDS ?? '', `assembly-${key}`);
  createOnce(directory, (temporary) => {
    const script = join(import.meta.dirname, 'synthesize.ts');
    execFileSync(process.execPath, [script, temporary, fixed.settings], { stdio: ['ignore', 'ignore', 'inherit'] });
  });
  const { template, bundle } = readAssembly(directory);
  return { template: fixed.restore(template), bundle, remove: () => undefined };
};
