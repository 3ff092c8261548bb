import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { transformSync } from 'esbuild';

export type ExecutionEnvironmentSettings = {
  /** The directory of the bundle: what Lambda unpacks to `/var/task`. */
  directory: string;
  /** `<file>.<export>`. */
  handler: string;
  /** The context properties that are the same for every invocation. */
  context: Record<string, string>;
  /** The lead of the stack's clock over real time in ms: one double. */
  offsetMs: SharedArrayBuffer;
  /** The name of the `node:diagnostics_channel` to which the function publishes the errors that it logs. */
  errorChannel?: string;
};

export type WorkerSettings = ExecutionEnvironmentSettings & {
  /** The number of invocations that were sent: one 32-bit integer. Changes wake threads in `Atomics.wait`. */
  invocations: SharedArrayBuffer;
};

/**
 * An invocation; `event` is JSON text. `deadlineMs` is when it times out, in ms since the epoch. It uses real time, so
 * moving the stack's clock does not reduce the remaining time.
 */
export type ToEnvironment = {
  requestId: string;
  event: string;
  deadlineMs: number;
};

/**
 * A message of an execution environment: its bundle is loaded, the function published an error, or an invocation has
 * ended; `payload` is JSON text.
 */
export type FromEnvironment = 'ready' | { error: string } | { requestId: string; payload: string; failed: boolean };

export type ExecutionEnvironmentOptions = {
  settings: ExecutionEnvironmentSettings;
  /** All environment variables: no others are inherited. */
  env: Record<string, string>;
};

export type RunningEnvironment = {
  worker: Worker;
  /** Sends an invocation and resumes the execution environment. */
  send(message: ToEnvironment): void;
};

/**
 * Starts a worker thread for a bundle. The code of the worker is transformed once per process, because a thread that
 * strips types itself takes twice as long to start. The V8 heap has no limit, because a thread that exceeds it with one
 * large allocation ends the process; the pool monitors the memory of its execution environments instead.
 */
export const startEnvironment = ({ settings, env }: ExecutionEnvironmentOptions): RunningEnvironment => {
  const invocations = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const workerData: WorkerSettings = { ...settings, invocations: invocations.buffer };
  const worker = new Worker(workerCode(), {
    eval: true,
    env,
    execArgv: [],
    workerData,
    stdout: true,
    stderr: true,
  });
  return {
    worker,
    send(message) {
      worker.postMessage(message);
      Atomics.add(invocations, 0, 1);
      Atomics.notify(invocations, 0);
    },
  };
};

let code: string | undefined;

const workerCode = (): string => {
  code ??= transformSync(readFileSync(new URL('./worker.ts', import.meta.url)), { loader: 'ts', format: 'cjs' }).code;
  return code;
};
