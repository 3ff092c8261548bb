import type { Worker } from 'node:worker_threads';
import { timeLimitMs } from '../time-limit.ts';
import {
  type ExecutionEnvironmentOptions,
  type FromEnvironment,
  type RunningEnvironment,
  startEnvironment,
} from './execution-environment.ts';
import { watchMemory } from './memory-watch.ts';

/** The result of an invocation: `payload` is the return value as JSON text or, if `failed`, the error. */
export type InvocationResult = {
  requestId: string;
  payload: string;
  failed: boolean;
  /** Set if the function did not run because it was throttled. */
  throttled?: boolean;
};

/** A result with the run time of the function, without its initialization. */
export type TimedInvocationResult = InvocationResult & {
  durationMs: number;
};

export type ExecutionEnvironmentPoolOptions = ExecutionEnvironmentOptions & {
  /** The maximum number of execution environments; further invocations wait. */
  size: number;
  timeoutSeconds: number;
  memoryMb: number;
  /** How long an execution environment stays idle in real time before it ends, unless it is the only one. */
  idleMs: number;
  /** Called with each line that an execution environment prints. */
  print: (line: string) => void;
  /** Called with the text of each error that a function publishes to `settings.errorChannel`. */
  printError?: (text: string) => void;
};

type Invocation = {
  requestId: string;
  event: string;
  resolve: (result: TimedInvocationResult) => void;
};

type Run = {
  requestId: string;
  event: string;
  /** When the function received the event, as a `performance.now()` time in ms. */
  startedAtMs?: number;
  end: (result: InvocationResult) => void;
};

/** The maximum size of an event and of a return value, in bytes. */
export const MAX_PAYLOAD_BYTES = 6 * 1024 * 1024;

/** Lambda allows 10 s. A bundle that takes 0.2 s on an idle machine can take longer than that on a busy one. */
const INIT_TIMEOUT_SECONDS = 60;

/**
 * The execution environments of one function. They start on demand (a cold start), handle one event at a time and are
 * reused, the most recently used one first. Those that crash or exceed the timeout are replaced, and those that nobody
 * uses end, because each has a heap of its own.
 */
export class ExecutionEnvironmentPool {
  readonly #options: ExecutionEnvironmentPoolOptions;
  /** In the order of their last use. */
  readonly #idle: ExecutionEnvironment[] = [];
  readonly #all = new Set<ExecutionEnvironment>();
  readonly #waiting: Invocation[] = [];
  #isStopped = false;

  constructor(options: ExecutionEnvironmentPoolOptions) {
    this.#options = options;
  }

  /** Runs the function with `event` (JSON text). Never rejects: a failure is a result. */
  invoke(event: string): Promise<TimedInvocationResult> {
    return new Promise((resolve) => {
      this.#waiting.push({ requestId: crypto.randomUUID(), event, resolve });
      this.#dispatch();
    });
  }

  get size(): number {
    return this.#all.size;
  }

  get busy(): number {
    return [...this.#all].filter(({ isBusy }) => isBusy).length;
  }

  /** Kills an execution environment, preferably a busy one, as a crash would. Returns whether there was one. */
  killOne(): boolean {
    const environments = [...this.#all];
    const environment = environments.find(({ isBusy }) => isBusy) ?? environments[0];
    environment?.kill('Runtime.ExitError', 'Runtime exited with error: signal: killed');
    return environment !== undefined;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const { requestId, resolve } of this.#waiting.splice(0)) {
      resolve({ ...failedResult(requestId, 'Runtime.ExitError', 'The local stack is stopping.'), durationMs: 0 });
    }
    await Promise.all(
      [...this.#all].map((environment) => environment.kill('Runtime.ExitError', 'The local stack is stopping.')),
    );
  }

  #dispatch(): void {
    while (this.#waiting.length > 0 && !this.#isStopped) {
      const environment = this.#idle.pop() ?? this.#start();
      const next = environment && this.#waiting.shift();
      if (!next) return;
      void environment.run(next).then(() => {
        if (environment.isAlive) this.#rest(environment);
        this.#dispatch();
      });
    }
  }

  #rest(environment: ExecutionEnvironment): void {
    this.#idle.push(environment);
    const usedCount = environment.usedCount;
    setTimeout(() => {
      const isUnused = environment.usedCount === usedCount && this.#idle.includes(environment);
      if (isUnused && this.#idle.length > 1) void environment.kill('Runtime.ExitError', 'Idle.');
    }, this.#options.idleMs).unref();
  }

  #start(): ExecutionEnvironment | undefined {
    if (this.#all.size >= this.#options.size) return undefined;
    const environment = new ExecutionEnvironment(this.#options, () => {
      this.#all.delete(environment);
      const index = this.#idle.indexOf(environment);
      if (index >= 0) this.#idle.splice(index, 1);
      this.#dispatch();
    });
    this.#all.add(environment);
    return environment;
  }
}

class ExecutionEnvironment {
  isAlive = true;
  usedCount = 0;
  readonly #options: ExecutionEnvironmentPoolOptions;
  readonly #environment: RunningEnvironment;
  readonly #onEnd: () => void;
  #isReady = false;
  #current: Run | undefined;
  #timer: NodeJS.Timeout | undefined;
  #endMemoryWatch: () => void = () => {};

  constructor(options: ExecutionEnvironmentPoolOptions, onEnd: () => void) {
    this.#options = options;
    this.#onEnd = onEnd;
    this.#environment = startEnvironment(options);
    const { worker } = this.#environment;
    printLines(worker, options.print);
    worker.on('message', (message: FromEnvironment) => this.#receive(message));
    worker.on('error', (error: Error) => {
      if (!this.isBusy) options.print(`an execution environment crashed between invocations: ${error.stack}`);
      this.#end(error.name, error.message, error.stack?.split('\n'));
    });
    worker.on('exit', (code) => this.#end('Runtime.ExitError', `Runtime exited with error: exit status ${code}`));
  }

  get isBusy(): boolean {
    return this.#current !== undefined;
  }

  run({ requestId, event, resolve: onResult }: Invocation): Promise<void> {
    return new Promise((resolve) => {
      const run: Run = {
        requestId,
        event,
        end: (result) => {
          clearTimeout(this.#timer);
          this.#endMemoryWatch();
          this.#current = undefined;
          const durationMs = run.startedAtMs === undefined ? 0 : performance.now() - run.startedAtMs;
          onResult({ ...result, durationMs });
          resolve();
        },
      };
      this.#current = run;
      this.usedCount++;
      if (this.#isReady) this.#startInvocation();
      else this.#killAfter(INIT_TIMEOUT_SECONDS);
    });
  }

  async kill(errorType: string, errorMessage: string): Promise<void> {
    this.#end(errorType, errorMessage);
    await this.#environment.worker.terminate();
  }

  #receive(message: FromEnvironment): void {
    if (message === 'ready') {
      this.#isReady = true;
      if (this.#current) this.#startInvocation();
    } else if ('error' in message) {
      this.#options.printError?.(message.error);
    } else if (message.requestId === this.#current?.requestId) {
      this.#current.end(message);
    }
  }

  #startInvocation(): void {
    if (!this.#current) return;
    const { requestId, event } = this.#current;
    this.#current.startedAtMs = performance.now();
    const { memoryMb, timeoutSeconds } = this.#options;
    this.#killAfter(timeoutSeconds);
    this.#endMemoryWatch = watchMemory(this.#environment.worker, memoryMb, () => {
      void this.kill('Runtime.OutOfMemory', 'Runtime exited with error: signal: killed');
    });
    this.#environment.send({ requestId, event, deadlineMs: Date.now() + timeLimitMs(timeoutSeconds * 1000) });
  }

  #killAfter(seconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => void this.kill('Sandbox.Timedout', `Task timed out after ${seconds.toFixed(2)} seconds`),
      timeLimitMs(seconds * 1000),
    );
  }

  #end(errorType: string, errorMessage: string, trace?: string[]): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.#current?.end(failedResult(this.#current.requestId, errorType, errorMessage, trace));
    this.#onEnd();
  }
}

const failedResult = (
  requestId: string,
  errorType: string,
  errorMessage: string,
  trace?: string[],
): InvocationResult => {
  const payload = JSON.stringify({ errorType, errorMessage: `RequestId: ${requestId} Error: ${errorMessage}`, trace });
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
