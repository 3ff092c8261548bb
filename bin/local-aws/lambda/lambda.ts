import { z } from 'zod';
import type { MovableClock } from '../clock.ts';
import { type FunctionSettings, lambdaContext, lambdaEnvironment } from './environment.ts';
import {
  ExecutionEnvironmentPool,
  type ExecutionEnvironmentPoolOptions,
  type InvocationResult,
  MAX_PAYLOAD_BYTES,
} from './execution-environment-pool.ts';
import { logLine } from './log-line.ts';
import { isStored, reportLine } from './logging.ts';

/** An invocation, as the `AWS/Lambda` metrics count it. */
export type InvocationReport = {
  functionName: string;
  /** When the invocation ended, by the clock of the stack, in ms since the epoch. */
  endedAtMs: number;
  /**
   * `success` and `error` (thrown, timed out or crashed) count as `Invocations`, `error` also as `Errors`. `throttle`
   * counts as `Throttles` only, because the function did not run.
   */
  result: 'success' | 'error' | 'throttle';
  /** Real run time of the function without its initialization; 0 for a throttle. */
  durationMs: number;
};

export type Lambda = {
  /** Invokes a function synchronously with an event (JSON text). */
  invoke(name: string, event: string): Promise<InvocationResult>;
  killOne(name: string): boolean;
  /** Throttles all invocations of a function until the returned function is called. */
  throttle(name: string): () => void;
  has(name: string): boolean;
  /** Returns the number of execution environments of a function, busy or idle. */
  environments(name: string): number;
  /** Returns the number of running invocations of one function or, without a name, of all. */
  busy(name?: string): number;
  stop(): Promise<void>;
};

export type LambdaOptions = {
  functions: readonly FunctionSettings[];
  /** Returns the maximum number of execution environments of a function. */
  concurrency: (name: string) => number;
  endpointUrl: string;
  clock: MovableClock;
  /** How long an execution environment stays idle in real time before it ends. Default: a minute. */
  idleMs?: number;
  log: (line: string) => void;
  /** Called with each line as CloudWatch Logs stores it. */
  rawLog?: (line: string, functionName: string) => void;
  /** Shows the errors that functions publish to a `node:diagnostics_channel`, messages included. */
  errors?: { channel: string; log: (line: string) => void };
  /** Called when an invocation ends or is throttled. */
  onInvocation?: (report: InvocationReport) => void;
};

export const createLambda = ({
  functions,
  concurrency,
  endpointUrl,
  clock,
  idleMs = 60_000,
  log,
  rawLog = () => {},
  errors,
  onInvocation = () => {},
}: LambdaOptions): Lambda => {
  const poolOptions = (settings: FunctionSettings): ExecutionEnvironmentPoolOptions => ({
    size: concurrency(settings.name),
    timeoutSeconds: settings.timeoutSeconds,
    memoryMb: settings.memoryMb,
    idleMs,
    env: lambdaEnvironment(settings, endpointUrl),
    settings: {
      directory: settings.directory,
      handler: settings.handler,
      context: lambdaContext(settings),
      offsetMs: clock.offsetMs,
      ...(errors && { errorChannel: errors.channel }),
    },
    printError: (text) => errors?.log(logLine(settings.name, text)),
    print: (line) => {
      if (isStored(line)) rawLog(line, settings.name);
      log(logLine(settings.name, line));
    },
  });
  const pools = new Map(
    functions.map((settings) => [settings.name, new ExecutionEnvironmentPool(poolOptions(settings))]),
  );
  const pool = (name: string): ExecutionEnvironmentPool => {
    const found = pools.get(name);
    if (!found) throw new Error(`The stack has no function ${name}.`);
    return found;
  };
  /** The active throttles, each by the name of its function. */
  const throttles = new Set<{ name: string }>();
  const report = (functionName: string, result: InvocationReport['result'], durationMs: number) =>
    onInvocation({ functionName, endedAtMs: clock.now(), result, durationMs });
  const logReport = (name: string, { requestId, payload, failed }: InvocationResult, durationMs: number) => {
    if (!failed) return;
    const { errorType } = failedPayload.parse(JSON.parse(payload));
    rawLog(reportLine({ requestId, durationMs, errorType }, new Date(clock.now())), name);
  };
  let isStopping = false;
  return {
    async invoke(name, event) {
      const target = pool(name);
      if ([...throttles].some((throttle) => throttle.name === name)) {
        report(name, 'throttle', 0);
        return throttledResult();
      }
      const { durationMs, ...returned } = await target.invoke(event);
      const result = withPayloadLimit(returned);
      report(name, result.failed ? 'error' : 'success', durationMs);
      logReport(name, result, durationMs);
      if (result.failed && !isStopping) log(logLine(name, failureLog(result)));
      return result;
    },
    killOne: (name) => pool(name).killOne(),
    throttle(name) {
      pool(name);
      const throttle = { name };
      throttles.add(throttle);
      return () => throttles.delete(throttle);
    },
    has: (name) => pools.has(name),
    environments: (name) => pool(name).size,
    busy: (name) => (name === undefined ? [...pools.values()] : [pool(name)]).reduce((sum, { busy }) => sum + busy, 0),
    async stop() {
      isStopping = true;
      await Promise.all([...pools.values()].map((each) => each.stop()));
    },
  };
};

/** The payload of a failed invocation. A function can fail without an error type. */
const failedPayload = z.object({ errorType: z.string().default('Error') });

const withPayloadLimit = (result: InvocationResult): InvocationResult => {
  if (Buffer.byteLength(result.payload) <= MAX_PAYLOAD_BYTES) return result;
  const payload = JSON.stringify({
    errorType: 'Function.ResponseSizeTooLarge',
    errorMessage: `Response payload size exceeded maximum allowed payload size (${MAX_PAYLOAD_BYTES} bytes).`,
  });
  return { ...result, payload, failed: true };
};

const throttledResult = (): InvocationResult => {
  const payload = JSON.stringify({ errorType: 'TooManyRequestsException', errorMessage: 'Rate Exceeded.' });
  return { requestId: crypto.randomUUID(), payload, failed: true, throttled: true };
};

/** Returns the log line of a failed invocation, formatted like the log lines of functions. */
const failureLog = ({ payload }: InvocationResult): string =>
  `{"level":"ERROR","message":"invocation failed",${payload.slice(1)}`;
