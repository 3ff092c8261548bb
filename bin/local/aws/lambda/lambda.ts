import type { MovableClock } from '../clock.ts';
import { type FunctionSettings, lambdaContext, lambdaEnvironment } from './environment.ts';
import type { InvocationReport } from './invocation-report.ts';
import { logLine } from './log-line.ts';
import { MAX_PAYLOAD_BYTES, type Outcome, Pool } from './pool.ts';
import { Throttles } from './throttles.ts';

/** The functions of the stack, to be invoked by name. */
export type Lambda = {
  /** Runs a function on an event (JSON text) as a synchronous invoke does. */
  invoke(name: string, event: string): Promise<Outcome>;
  /** Kills a sandbox of a function, a busy one if there is any; tells whether one was running. */
  killOne(name: string): boolean;
  /** Refuses every invocation of a function, as if its concurrency were used up, until the returned function is called. */
  throttle(name: string): () => void;
  /**
   * Takes so many ms from the time that each running invocation of a function has left, as slow calls would: tests of what a
   * function does near its timeout need not wait.
   */
  spend(name: string, ms: number): void;
  has(name: string): boolean;
  /** How many invocations are at work, of one function or of all. */
  busy(name?: string): number;
  stop(): Promise<void>;
};

/** What the functions run with. */
export type LambdaOptions = {
  functions: readonly FunctionSettings[];
  /** How many sandboxes a function may have at once. */
  concurrency: (name: string) => number;
  endpointUrl: string;
  clock: MovableClock;
  log: (line: string) => void;
  /** Takes the same lines as CloudWatch would keep them. */
  rawLog?: (line: string, functionName: string) => void;
  /** Takes a report of each invocation when it has ended or was throttled. */
  onInvocation?: (report: InvocationReport) => void;
};

/** Runs the bundles of the stack. */
export const createLambda = ({
  functions,
  concurrency,
  endpointUrl,
  clock,
  log,
  rawLog = () => {},
  onInvocation = () => {},
}: LambdaOptions): Lambda => {
  const pools = new Map(
    functions.map((settings) => [
      settings.name,
      new Pool({
        size: concurrency(settings.name),
        timeoutSeconds: settings.timeoutSeconds,
        memoryMb: settings.memoryMb,
        env: lambdaEnvironment(settings, endpointUrl),
        settings: {
          directory: settings.directory,
          handler: settings.handler,
          context: lambdaContext(settings),
          offsetMs: clock.offsetMs,
        },
        print: (line) => {
          rawLog(line, settings.name);
          log(logLine(settings.name, line));
        },
      }),
    ]),
  );
  const pool = (name: string): Pool => {
    const found = pools.get(name);
    if (!found) throw new Error(`The stack has no function ${name}.`);
    return found;
  };
  const throttles = new Throttles();
  const report = (functionName: string, result: InvocationReport['result'], durationMs: number) =>
    onInvocation({ functionName, endedAtMs: clock.now(), result, durationMs });
  let stopping = false;
  return {
    async invoke(name, event) {
      const target = pool(name);
      if (throttles.has(name)) {
        report(name, 'throttle', 0);
        return throttledOutcome();
      }
      const { durationMs, ...answer } = await target.invoke(event);
      const outcome = limited(answer);
      report(name, outcome.failed ? 'error' : 'success', durationMs);
      if (outcome.failed && !stopping) log(logLine(name, failureLog(outcome)));
      return outcome;
    },
    killOne: (name) => pool(name).killOne(),
    throttle(name) {
      pool(name);
      return throttles.add(name);
    },
    spend: (name, ms) => pool(name).spend(ms),
    has: (name) => pools.has(name),
    busy: (name) => (name === undefined ? [...pools.values()] : [pool(name)]).reduce((sum, { busy }) => sum + busy, 0),
    async stop() {
      stopping = true;
      await Promise.all([...pools.values()].map((each) => each.stop()));
    },
  };
};

const limited = (outcome: Outcome): Outcome => {
  if (Buffer.byteLength(outcome.payload) <= MAX_PAYLOAD_BYTES) return outcome;
  const payload = JSON.stringify({
    errorType: 'Function.ResponseSizeTooLarge',
    errorMessage: `Response payload size exceeded maximum allowed payload size (${MAX_PAYLOAD_BYTES} bytes).`,
  });
  return { ...outcome, payload, failed: true };
};

const throttledOutcome = (): Outcome => {
  const payload = JSON.stringify({ errorType: 'TooManyRequestsException', errorMessage: 'Rate Exceeded.' });
  return { requestId: crypto.randomUUID(), payload, failed: true, throttled: true };
};

/** What the Lambda runtime logs of a failed invocation, in the form of the functions' own log lines. */
const failureLog = ({ payload }: Outcome): string =>
  `{"level":"ERROR","message":"invocation failed",${payload.slice(1)}`;
