import type { FunctionSettings } from 'local-aws/lambda/environment.ts';
import { lambdaContext, lambdaEnvironment } from 'local-aws/lambda/environment.ts';
import { type InvocationResult, MAX_PAYLOAD_BYTES } from 'local-aws/lambda/execution-environment-pool.ts';
import type { EnvironmentOptions } from './execution-environment.ts';
import { ExecutionEnvironment } from './execution-environment.ts';
import { integer, type Random } from './random.ts';

export type SimulatedLambdaOptions = Pick<
  EnvironmentOptions,
  'code' | 'time' | 'internet' | 'callAws' | 'isSerialized'
> & {
  functions: readonly FunctionSettings[];
  concurrency: number;
  maxSkewMs: number;
  random: Random;
  randomOf: (actor: string) => Random;
  trace: (line: string) => void;
  write: (functionName: string, text: string) => void;
  /** Called when an invocation starts in an execution environment, with its event (JSON text). */
  onInvocation: (environmentId: string, event: string) => void;
};

type Invocation = { requestId: string; event: string; resolve: (result: InvocationResult) => void };

type Pool = {
  settings: FunctionSettings;
  /** The name of the bundle, such as `send-webhook`. */
  name: string;
  idle: ExecutionEnvironment[];
  running: Map<ExecutionEnvironment, (result: InvocationResult) => void>;
  waiting: Invocation[];
  started: number;
};

/** The type of the error of an invocation that times out. */
const TIMED_OUT = 'Sandbox.Timedout';

const COLD_START_MS = { min: 150, max: 600 };

const failure = (requestId: string, errorType: string, errorMessage: string): InvocationResult => ({
  requestId,
  payload: JSON.stringify({ errorType, errorMessage }),
  failed: true,
});

/**
 * Lambda: functions have execution environments with clocks of their own, which are reused, frozen between invocations,
 * and end with a timeout, or when they are killed. The most recently used one is used first.
 */
export class SimulatedLambda {
  readonly #options: SimulatedLambdaOptions;
  readonly #pools: ReadonlyMap<string, Pool>;
  /** The number of environments that were killed, or timed out, by the name of the bundle and when. */
  readonly kills: { functionName: string; environmentId: string; atMs: number; isTimeout: boolean }[] = [];
  readonly failures: string[] = [];

  constructor(options: SimulatedLambdaOptions) {
    this.#options = options;
    this.#pools = new Map(
      options.functions.map((settings) => {
        const name = settings.name.replace(/^[^-]*-/, '');
        return [settings.name, { settings, name, idle: [], running: new Map(), waiting: [], started: 0 }];
      }),
    );
  }

  has(functionName: string): boolean {
    return this.#pools.has(functionName);
  }

  /** Runs a function with an event (JSON text). Never rejects: a failure is a result. */
  invoke(functionName: string, event: string): Promise<InvocationResult> {
    const pool = this.#pools.get(functionName);
    if (!pool) throw new Error(`There is no function ${functionName}.`);
    return new Promise((resolve) => {
      pool.waiting.push({ requestId: crypto.randomUUID(), event, resolve });
      this.#dispatch(pool);
    });
  }

  /** Ends an environment as a crash does. */
  kill(environment: ExecutionEnvironment): void {
    this.#end(environment, 'Runtime.ExitError', 'Runtime exited with error: signal: killed');
  }

  /** The execution environments that run an invocation. */
  get busy(): ExecutionEnvironment[] {
    return [...this.#pools.values()].flatMap(({ running }) => [...running.keys()]);
  }

  /** Ends all idle environments, as Lambda does when a function is not used for some time. */
  recycle(): void {
    for (const pool of this.#pools.values()) for (const environment of pool.idle.splice(0)) environment.kill();
  }

  #end(environment: ExecutionEnvironment, errorType: string, message: string): void {
    for (const pool of this.#pools.values()) {
      const end = pool.running.get(environment);
      if (!end || environment.isKilled) continue;
      environment.kill();
      const { time, trace } = this.#options;
      this.kills.push({
        functionName: pool.name,
        environmentId: environment.id,
        atMs: time.now(),
        isTimeout: errorType === TIMED_OUT,
      });
      trace(`${environment.id} ends: ${errorType}`);
      end(failure('', errorType, message));
    }
  }

  #dispatch(pool: Pool): void {
    const { concurrency, time, random } = this.#options;
    while (pool.waiting.length > 0) {
      const idle = pool.idle.pop();
      if (!idle && pool.running.size >= concurrency) return;
      const invocation = pool.waiting.shift();
      if (!invocation) return;
      const environment = idle ?? this.#start(pool);
      const ended = new Promise<InvocationResult>((resolve) => pool.running.set(environment, resolve));
      void ended.then((result) => {
        pool.running.delete(environment);
        if (!environment.isKilled) pool.idle.push(environment);
        invocation.resolve(result);
        this.#dispatch(pool);
      });
      if (idle) this.#run(pool, environment, invocation);
      else
        time.after(integer(COLD_START_MS.min, COLD_START_MS.max, random), () =>
          this.#run(pool, environment, invocation),
        );
    }
  }

  #start(pool: Pool): ExecutionEnvironment {
    const { code, time, internet, callAws, isSerialized, maxSkewMs, randomOf, write } = this.#options;
    const id = `${pool.name}#${pool.started++}`;
    const random = randomOf(id);
    return new ExecutionEnvironment({
      functionName: pool.name,
      id,
      code,
      time,
      internet,
      callAws,
      isSerialized,
      random,
      skewMs: Math.round((random() * 2 - 1) * maxSkewMs),
      // The logger of `shared/`, which all functions have in common here, keeps the release of the first of them.
      variables: { ...lambdaEnvironment(pool.settings, 'http://aws.test'), RELEASE: 'simulated' },
      write: (text) => write(pool.name, text),
    });
  }

  #run(pool: Pool, environment: ExecutionEnvironment, { requestId, event }: Invocation): void {
    const end = pool.running.get(environment);
    if (!end || environment.isKilled) return;
    const { time, trace, onInvocation } = this.#options;
    const { settings } = pool;
    onInvocation(environment.id, event);
    const deadlineMs = time.now() + settings.timeoutSeconds * 1_000;
    const cancelTimeout = time.after(settings.timeoutSeconds * 1_000, () =>
      this.#end(environment, TIMED_OUT, `Task timed out after ${settings.timeoutSeconds.toFixed(2)} seconds`),
    );
    const context = {
      ...lambdaContext(settings),
      awsRequestId: requestId,
      callbackWaitsForEmptyEventLoop: true,
      getRemainingTimeInMillis: () => Math.max(0, deadlineMs - time.now()),
    };
    const settle = (result: InvocationResult): void => {
      if (environment.isKilled) return;
      cancelTimeout();
      environment.freeze();
      end(result);
    };
    environment.invoke(JSON.parse(event), context).then(
      (value) => {
        const payload = JSON.stringify(value) ?? 'null';
        const isTooLarge = Buffer.byteLength(payload) > MAX_PAYLOAD_BYTES;
        settle(
          isTooLarge
            ? failure(requestId, 'Function.ResponseSizeTooLarge', 'The response is too large.')
            : { requestId, payload, failed: false },
        );
      },
      (error: unknown) => {
        const name = error instanceof Error ? error.name : 'Error';
        this.failures.push(`${environment.id}: ${String(error)}`);
        trace(`${environment.id} failed: ${error instanceof Error ? error.stack : String(error)}`);
        settle(failure(requestId, name, String(error)));
      },
    );
  }
}
