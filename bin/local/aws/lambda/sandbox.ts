import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { transformSync } from 'esbuild';

/** What a sandbox is started with. */
export type SandboxSettings = {
  /** The directory of the bundle: what Lambda unpacks to `/var/task`. */
  directory: string;
  /** `<file>.<export>`. */
  handler: string;
  /** What is the same in the context of every invocation. */
  context: Record<string, string>;
  /** How far the stack's time is ahead of the machine's, in ms: one double. */
  offsetMs: SharedArrayBuffer;
};

/** What a worker thread is started with: the sandbox's settings, and how it is woken. */
export type WorkerSettings = SandboxSettings & {
  /** How many invocations were sent to the sandbox: one 32-bit integer, notified when it changes. */
  invocations: SharedArrayBuffer;
  /** How much sooner than `deadlineMs` the invocation ends, in ms: one double. */
  spentMs: SharedArrayBuffer;
};

/**
 * One invocation. `event` is JSON text. `deadlineMs` is when it is killed, in milliseconds since the epoch in real time:
 * moving the stack's time forward takes nothing from the time that an invocation has left.
 */
export type ToSandbox = {
  requestId: string;
  event: string;
  deadlineMs: number;
};

/** A sandbox tells that it has loaded its bundle, and then how each invocation ended; `payload` is JSON text. */
export type FromSandbox = 'ready' | { requestId: string; payload: string; failed: boolean };

/** What a new sandbox needs besides its settings. */
export type SandboxOptions = {
  settings: SandboxSettings;
  /** Its whole environment: nothing of ours shines through. */
  env: Record<string, string>;
};

/** A running sandbox: it is frozen whenever it has answered every invocation that was sent to it. */
export type RunningSandbox = {
  worker: Worker;
  /** Sends an invocation, which wakes the sandbox. */
  send(message: ToSandbox): void;
  /** Takes so many ms from the time that the invocation has left. */
  spend(ms: number): void;
};

/**
 * Starts a worker thread for a bundle. The worker's own code is transformed once, here: a thread that had to strip its
 * types itself would take twice as long to start. V8 gets no limit for its heap, since a thread that reaches it by one large
 * allocation takes the process along: the pool watches the memory of its sandboxes instead.
 */
export const startSandbox = ({ settings, env }: SandboxOptions): RunningSandbox => {
  const invocations = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const spentMs = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));
  const workerData: WorkerSettings = { ...settings, invocations: invocations.buffer, spentMs: spentMs.buffer };
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
      spentMs[0] = 0;
      worker.postMessage(message);
      Atomics.add(invocations, 0, 1);
      Atomics.notify(invocations, 0);
    },
    spend(ms) {
      spentMs[0] = (spentMs[0] ?? 0) + ms;
    },
  };
};

let code: string | undefined;

const workerCode = (): string => {
  code ??= transformSync(readFileSync(new URL('./worker.ts', import.meta.url)), { loader: 'ts', format: 'cjs' }).code;
  return code;
};
