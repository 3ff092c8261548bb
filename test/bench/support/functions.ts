import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { lambdaEnvironment } from 'local-aws/lambda/environment.ts';
import { readTemplate } from 'local-aws/template.ts';
import { synthesize } from '../../../bin/local/assembly.ts';
import { bundling, functionNames } from '../../../lib/bundles.ts';
import type { FunctionName } from '../../../shared/environment.ts';
import { startChild } from './child.ts';
import { limitCpu } from './cpu-limit.ts';
import type { Invocation } from './invoke.ts';

export type DeployedFunction = {
  name: FunctionName;
  bundle: string;
  environment: Readonly<Record<string, string>>;
  memoryMb: number;
};

export type FunctionProcess = {
  /** When the process was started, in ms since the epoch, with fractions. */
  startedAtMs: number;
  /** Invokes it with one event after another. @throws Error if the process exits, for example without memory */
  invoke: (events: readonly unknown[]) => Promise<Invocation[]>;
  /** Limits the CPU to the share that Lambda gives the function. @throws Error if it cannot be limited */
  limitCpu: () => void;
  stop: () => Promise<void>;
};

const SETTINGS = {
  egressAllow: '127.0.0.0/8',
  smsPerTenantPerDay: '1000000',
  managedPerTenantPerDay: '1000000',
  emailsPerTenantPerDay: '1000000',
};

/** The heap limits of the Lambda runtime (`/var/runtime/bootstrap` of the AWS base images for Node.js). */
const heapOptions = (memoryMb: number): string[] => {
  const newSpaceMb = Math.floor(memoryMb / 10);
  return [`--max-semi-space-size=${Math.floor(newSpaceMb / 2)}`, `--max-old-space-size=${memoryMb - newSpaceMb}`];
};

/**
 * Starts an AWS stub and a receiver of HTTP requests, and prepares the functions of the synthesized template.
 *
 * @param options whether AWS also counts the units of the price list
 */
export const startFunctions = async ({ isMetered = false } = {}) => {
  const directory = mkdtempSync(join(tmpdir(), 'bench-'));
  const runner = join(directory, 'invoke.js');
  buildSync({ ...bundling, entryPoints: [join(import.meta.dirname, 'invoke.ts')], outfile: runner });
  const receiver = await startChild('./receiver.ts');
  const aws = await startChild('./aws-stub.ts', { destination: receiver.url, isMetered });
  const endpoints = { pagerEndpoint: receiver.url, routerEndpoint: receiver.url, feedEndpoint: receiver.url };
  const { template, bundle: bundleOf, remove } = synthesize({ ...SETTINGS, ...endpoints });
  const deployed = readTemplate(template, { endpointUrl: aws.url, apiUrl: aws.url, bundle: bundleOf });
  const functions = deployed.functions.map((settings): DeployedFunction => {
    const name = functionNames.find((known) => settings.name.endsWith(`-${known}`));
    if (!name) throw new Error(`The template has an unknown function ${settings.name}.`);
    const environment = lambdaEnvironment(settings, aws.url);
    return { name, bundle: `${settings.directory}/index.js`, environment, memoryMb: settings.memoryMb };
  });

  return {
    aws,
    receiver,
    functions,
    /** A directory for files, removed by `stop`. */
    directory,
    functionNamed(name: FunctionName): DeployedFunction {
      const found = functions.find((each) => each.name === name);
      if (!found) throw new Error(`There is no function ${name}.`);
      return found;
    },
    /** Starts a function, with the heap limits of Lambda if they are asked for. */
    start({ bundle, environment, memoryMb }: DeployedFunction, { isHeapLimited = false } = {}): FunctionProcess {
      const startedAtMs = performance.timeOrigin + performance.now();
      const child = fork(runner, [bundle], {
        env: environment,
        execArgv: isHeapLimited ? heapOptions(memoryMb) : [],
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      });
      const exited = once(child, 'exit');
      const failed = exited.then(([code, signal]) => {
        throw new Error(`${bundle} exited with ${signal ?? code}.`);
      });
      failed.catch(() => undefined);
      let removeLimit: (() => void) | undefined;
      return {
        startedAtMs,
        async invoke(events) {
          child.send(events);
          const [invocations] = await Promise.race([once(child, 'message'), failed]);
          return invocations;
        },
        limitCpu() {
          if (child.pid !== undefined) removeLimit = limitCpu(child.pid, memoryMb);
        },
        async stop() {
          if (child.connected) child.disconnect();
          await exited;
          removeLimit?.();
        },
      };
    },
    stop() {
      aws.stop();
      receiver.stop();
      remove();
      rmSync(directory, { recursive: true, force: true });
    },
  };
};
