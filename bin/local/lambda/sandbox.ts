import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { transformSync } from 'esbuild';

/** What a sandbox is started with. */
export interface SandboxSettings {
  /** The directory of the bundle: what Lambda unpacks to `/var/task`. */
  directory: string;
  /** `<file>.<export>`. */
  handler: string;
  /** What is the same in the context of every invocation. */
  context: Record<string, string>;
  /** How far the stack's time is ahead of the machine's, in ms: one double. */
  shift: SharedArrayBuffer;
}

/** One invocation. `event` is JSON text; `deadline` is in milliseconds since the epoch. */
export interface ToSandbox {
  requestId: string;
  event: string;
  deadline: number;
}

/** A sandbox tells that it has loaded its bundle, and then how each invocation ended; `payload` is JSON text. */
export type FromSandbox = 'ready' | { requestId: string; payload: string; failed: boolean };

/** What a new sandbox needs besides its settings. */
export interface SandboxOptions {
  settings: SandboxSettings;
  /** Its whole environment: nothing of ours shines through. */
  env: Record<string, string>;
}

/**
 * Starts a worker thread for a bundle. The worker's own code is transformed once, here: a thread that had to strip its
 * types itself would take twice as long to start. Its memory is not limited: a thread at V8's limit can take the process along.
 */
export function startSandbox({ settings, env }: SandboxOptions): Worker {
  return new Worker(workerCode(), {
    eval: true,
    env,
    execArgv: [],
    workerData: settings,
    stdout: true,
    stderr: true,
  });
}

let code: string | undefined;

function workerCode(): string {
  code ??= transformSync(readFileSync(new URL('./worker.ts', import.meta.url)), { loader: 'ts', format: 'cjs' }).code;
  return code;
}
