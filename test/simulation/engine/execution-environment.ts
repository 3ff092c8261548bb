import { type AwsTransport, type Context, contexts, type HttpRequest, type Internet } from './context.ts';
import type { Random } from './random.ts';
import type { Handler, ServiceCode } from './service-code.ts';
import type { VirtualTime } from './virtual-time.ts';

export type EnvironmentOptions = {
  /** The name of the bundle, such as `send-webhook`. */
  functionName: string;
  /** The ID of the environment in the trace. */
  id: string;
  code: ServiceCode;
  time: VirtualTime;
  skewMs: number;
  random: Random;
  variables: Readonly<Record<string, string>>;
  write: (text: string) => void;
  isSerialized: boolean;
  internet: Pick<Internet, 'resolve'> & {
    send: (request: HttpRequest, environmentId: string) => ReturnType<Internet['send']>;
  };
  callAws: (environment: ExecutionEnvironment, ...parameters: Parameters<AwsTransport>) => ReturnType<AwsTransport>;
};

/** An execution environment of a Lambda function: a cold start evaluates the module of the function. */
export class ExecutionEnvironment {
  readonly id: string;
  readonly functionName: string;
  readonly #context: Context;
  readonly #handler: Handler;
  /** What happened while it was frozen. */
  readonly #held: (() => void)[] = [];
  #isFrozen = false;
  #isKilled = false;

  constructor({ functionName, id, code, callAws, internet, ...rest }: EnvironmentOptions) {
    this.id = id;
    this.functionName = functionName;
    this.#context = {
      ...rest,
      internet: { ...internet, send: (request) => internet.send(request, id) },
      callAws: (request) =>
        new Promise((resolve, reject) => {
          callAws(this, request).then(
            (reply) => this.#deliver(() => resolve(reply)),
            (error: unknown) => this.#deliver(() => reject(error)),
          );
        }),
      deliver: (act) => this.#deliver(act),
      turn: (order) => rest.time.turn(order),
    };
    this.#handler = contexts.run(this.#context, () => code.load(functionName));
  }

  get isKilled(): boolean {
    return this.#isKilled;
  }

  /** Runs the handler. The promise never settles once the environment is killed. */
  invoke(event: unknown, context: object): Promise<unknown> {
    return contexts.run(this.#context, () => {
      this.#isFrozen = false;
      for (const act of this.#held.splice(0)) act();
      return this.#handler(event, context);
    });
  }

  /** Stops timers and responses until the next invocation, as Lambda does between invocations. */
  freeze(): void {
    this.#isFrozen = true;
  }

  /** Ends it at once: nothing that it waits for happens. */
  kill(): void {
    this.#isKilled = true;
    this.#held.length = 0;
  }

  #deliver(act: () => void): void {
    if (this.#isKilled) return;
    if (this.#isFrozen) this.#held.push(() => contexts.run(this.#context, act));
    else contexts.run(this.#context, act);
  }
}
