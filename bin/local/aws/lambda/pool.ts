import type { Worker } from 'node:worker_threads';
import { watchMemory } from './memory-watch.ts';
import { type FromSandbox, type RunningSandbox, type SandboxOptions, startSandbox } from './sandbox.ts';

/** How an invocation ended: `payload` is JSON text, the function's answer or, when `failed`, its error. */
export type Outcome = {
  requestId: string;
  payload: string;
  failed: boolean;
  /** Set where the function did not run, since its concurrency was used up. */
  throttled?: boolean;
};

/** An outcome with the time that the function ran, without its initialization, in milliseconds. */
export type TimedOutcome = Outcome & {
  durationMs: number;
};

/** A pool of sandboxes of one function. */
export type PoolOptions = SandboxOptions & {
  /** How many sandboxes may run at once; further invocations wait their turn. */
  size: number;
  timeoutSeconds: number;
  memoryMb: number;
  /** Takes what sandboxes print, line by line. */
  print: (line: string) => void;
};

type Invocation = {
  requestId: string;
  event: string;
  resolve: (outcome: TimedOutcome) => void;
};

/** The invocation that a sandbox is busy with. */
type Run = {
  requestId: string;
  event: string;
  /** When the function got the event, by `performance.now()`. */
  begunAt?: number;
  end: (outcome: Outcome) => void;
};

/** The most that a Lambda takes and gives in one invocation, in bytes. */
export const MAX_PAYLOAD_BYTES = 6 * 1024 * 1024;

const INIT_TIMEOUT_SECONDS = 10;

/**
 * The sandboxes of one function. They start when they are needed (a cold start), handle one event at a time, are used
 * again, the warmest first, and are replaced when they crash or are killed at the function's timeout.
 */
export class Pool {
  readonly #options: PoolOptions;
  readonly #idle: Sandbox[] = [];
  readonly #all = new Set<Sandbox>();
  readonly #waiting: Invocation[] = [];
  #stopped = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Runs the function on `event` (JSON text). Never rejects: a failure is an outcome. */
  invoke(event: string): Promise<TimedOutcome> {
    return new Promise((resolve) => {
      this.#waiting.push({ requestId: crypto.randomUUID(), event, resolve });
      this.#dispatch();
    });
  }

  /** How many sandboxes are at work. */
  get busy(): number {
    return [...this.#all].filter(({ busy }) => busy).length;
  }

  /** Kills a sandbox, a busy one if there is any, as a crash would; tells whether one was running. */
  killOne(): boolean {
    const sandboxes = [...this.#all];
    const victim = sandboxes.find(({ busy }) => busy) ?? sandboxes[0];
    victim?.kill('Runtime.ExitError', 'Runtime exited with error: signal: killed');
    return victim !== undefined;
  }

  /** Takes so many ms from the time that each running invocation has left, as slow calls would. */
  spend(ms: number): void {
    for (const sandbox of this.#all) sandbox.spend(ms);
  }

  /** Ends every sandbox; what still waits fails. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { requestId, resolve } of this.#waiting.splice(0)) {
      resolve({ ...failedOutcome(requestId, 'Runtime.ExitError', 'The local stack is stopping.'), durationMs: 0 });
    }
    await Promise.all(
      [...this.#all].map((sandbox) => sandbox.kill('Runtime.ExitError', 'The local stack is stopping.')),
    );
  }

  #dispatch(): void {
    while (this.#waiting.length > 0 && !this.#stopped) {
      const sandbox = this.#idle.pop() ?? this.#start();
      const next = sandbox && this.#waiting.shift();
      if (!next) return;
      void sandbox.run(next).then(() => {
        if (sandbox.alive) this.#idle.push(sandbox);
        this.#dispatch();
      });
    }
  }

  #start(): Sandbox | undefined {
    if (this.#all.size >= this.#options.size) return undefined;
    const sandbox = new Sandbox(this.#options, () => {
      this.#all.delete(sandbox);
      const index = this.#idle.indexOf(sandbox);
      if (index >= 0) this.#idle.splice(index, 1);
      this.#dispatch();
    });
    this.#all.add(sandbox);
    return sandbox;
  }
}

/** One worker thread and the invocation it is busy with. */
class Sandbox {
  alive = true;
  readonly #options: PoolOptions;
  readonly #sandbox: RunningSandbox;
  readonly #gone: () => void;
  #ready = false;
  /** When the invocation is killed, in milliseconds since the epoch in real time. */
  #deadlineMs = 0;
  #current: Run | undefined;
  #timer: NodeJS.Timeout | undefined;
  #endMemoryWatch: () => void = () => {};

  constructor(options: PoolOptions, gone: () => void) {
    this.#options = options;
    this.#gone = gone;
    this.#sandbox = startSandbox(options);
    const { worker } = this.#sandbox;
    printLines(worker, options.print);
    worker.on('message', (message: FromSandbox) => this.#receive(message));
    worker.on('error', (error: Error) => {
      if (!this.busy) options.print(`a sandbox crashed after it had answered: ${error.stack}`);
      this.#end(error.name, error.message);
    });
    worker.on('exit', (code) => this.#end('Runtime.ExitError', `Runtime exited with error: exit status ${code}`));
  }

  get busy(): boolean {
    return this.#current !== undefined;
  }

  run({ requestId, event, resolve: answer }: Invocation): Promise<void> {
    return new Promise((resolve) => {
      const run: Run = {
        requestId,
        event,
        end: (outcome) => {
          clearTimeout(this.#timer);
          this.#endMemoryWatch();
          this.#current = undefined;
          const durationMs = run.begunAt === undefined ? 0 : performance.now() - run.begunAt;
          answer({ ...outcome, durationMs });
          resolve();
        },
      };
      this.#current = run;
      if (this.#ready) this.#begin();
      else this.#killAfter(INIT_TIMEOUT_SECONDS);
    });
  }

  spend(ms: number): void {
    if (this.#current?.begunAt === undefined) return;
    this.#sandbox.spend(ms);
    this.#deadlineMs -= ms;
    this.#killAfter(this.#options.timeoutSeconds, this.#deadlineMs - Date.now());
  }

  async kill(errorType: string, errorMessage: string): Promise<void> {
    this.#end(errorType, errorMessage);
    await this.#sandbox.worker.terminate();
  }

  #receive(message: FromSandbox): void {
    if (message === 'ready') {
      this.#ready = true;
      if (this.#current) this.#begin();
    } else if (message.requestId === this.#current?.requestId) {
      this.#current.end(message);
    }
  }

  #begin(): void {
    if (!this.#current) return;
    const { requestId, event } = this.#current;
    this.#current.begunAt = performance.now();
    const { memoryMb, timeoutSeconds } = this.#options;
    this.#deadlineMs = Date.now() + timeoutSeconds * 1000;
    this.#killAfter(timeoutSeconds);
    this.#endMemoryWatch = watchMemory(this.#sandbox.worker, memoryMb, () => {
      void this.kill('Runtime.OutOfMemory', 'Runtime exited with error: signal: killed');
    });
    this.#sandbox.send({ requestId, event, deadlineMs: this.#deadlineMs });
  }

  #killAfter(seconds: number, ms = seconds * 1000): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => void this.kill('Sandbox.Timedout', `Task timed out after ${seconds.toFixed(2)} seconds`),
      ms,
    );
  }

  #end(errorType: string, errorMessage: string): void {
    if (!this.alive) return;
    this.alive = false;
    this.#current?.end(failedOutcome(this.#current.requestId, errorType, errorMessage));
    this.#gone();
  }
}

const failedOutcome = (requestId: string, errorType: string, errorMessage: string): Outcome => {
  const payload = JSON.stringify({ errorType, errorMessage: `RequestId: ${requestId} Error: ${errorMessage}` });
  return { requestId, payload, failed: true };
};

const printLines = (worker: Worker, print: (line: string) => void): void => {
  for (const stream of [worker.stdout, worker.stderr]) {
    let rest = '';
    stream.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      lines.forEach(print);
    });
    stream.on('end', () => rest && print(rest));
  }
};
