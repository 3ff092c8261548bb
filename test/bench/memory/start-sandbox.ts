import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { bundling } from '../../../lib/bundles.ts';
import type { DeployedFunction } from '../support/deployed.ts';
import { createLimits } from './limits.ts';
import type { Invocation } from './sandbox.ts';

/** A function in its own process, with the CPU share and memory of a Lambda function if they are limited. */
export type Sandbox = {
  /** The time from the start of the process until the bundle is loaded. */
  initMs: number;
  /** @throws Error if the process ends, for example because it is out of memory */
  invoke: (event: unknown) => Promise<Invocation>;
  /** Limits the CPU to the share of the memory, or lifts that limit. Limited once the bundle is loaded. */
  limitCpu: (isLimited: boolean) => void;
  stop: () => Promise<void>;
};

type Bundle = Pick<DeployedFunction, 'bundle' | 'environment' | 'memoryMb'>;

/** Builds `sandbox.ts` with the settings of the deployed bundles. @returns its path */
export const buildSandbox = (directory: string): string => {
  const outfile = join(directory, 'sandbox.js');
  buildSync({ ...bundling, entryPoints: [join(import.meta.dirname, 'sandbox.ts')], outfile });
  return outfile;
};

/** The heap limits of the Lambda runtime (`/var/runtime/bootstrap` of the AWS base images for Node.js). */
const heapOptions = (memoryMb: number): string[] => {
  const newSpaceMb = Math.floor(memoryMb / 10);
  return [`--max-semi-space-size=${Math.floor(newSpaceMb / 2)}`, `--max-old-space-size=${memoryMb - newSpaceMb}`];
};

/** Starts a function. @param prefix a command that executes the command after it */
const startProcess = async (
  runner: string,
  { bundle, environment, memoryMb }: Bundle,
  prefix: readonly string[] = [],
): Promise<Omit<Sandbox, 'limitCpu'>> => {
  const startMs = performance.now();
  const [file = '', ...args] = [...prefix, process.execPath, ...heapOptions(memoryMb), runner, bundle];
  const child = spawn(file, args, {
    env: { ...environment, AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb) },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const exited = once(child, 'exit').then(() => undefined);
  const nextMessage = <Message>(): Promise<Message> =>
    new Promise((resolve, reject) => {
      const rejectOnExit = (_: unknown, signal: string | null) =>
        reject(new Error(signal === null ? 'The process exited.' : `The process was ended by ${signal}.`));
      child.once('exit', rejectOnExit);
      child.once('message', (message: Message) => {
        child.off('exit', rejectOnExit);
        resolve(message);
      });
    });
  await nextMessage();
  return {
    initMs: performance.now() - startMs,
    invoke: (event) => {
      const invoked = nextMessage<Invocation>();
      child.send({ event });
      return invoked;
    },
    async stop() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
};

/** Joins two control groups, and executes the command after them. */
const JOIN_GROUPS = 'echo $$ > "$0" && echo $$ > "$1" && shift && exec "$@"';

/** Starts a function whose heap alone is limited. @param runner the built `sandbox.ts` */
export const startUnlimited = async (runner: string, bundle: Bundle): Promise<Sandbox> => ({
  ...(await startProcess(runner, bundle)),
  limitCpu: () => undefined,
});

/**
 * Starts a function with the CPU share and memory of Lambda.
 *
 * @param runner the built `sandbox.ts`
 * @throws Error if this process cannot create control groups
 */
export const startSandbox = async (runner: string, bundle: Bundle): Promise<Sandbox> => {
  const { procs, limitCpu, remove } = createLimits(bundle.memoryMb);
  const started = await startProcess(runner, bundle, ['/bin/sh', '-c', JOIN_GROUPS, ...procs]);
  limitCpu(true);
  return {
    ...started,
    limitCpu,
    async stop() {
      limitCpu(false);
      await started.stop();
      remove();
    },
  };
};
