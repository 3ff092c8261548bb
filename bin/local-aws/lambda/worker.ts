/**
 * An execution environment of a Lambda function: a worker thread that loads the bundle as the Node.js runtime of Lambda
 * does and handles one event at a time. It runs as JavaScript text (see `execution-environment.ts`), so it imports only
 * Node.js modules and types.
 */
import { subscribe } from 'node:diagnostics_channel';
import { createRequire } from 'node:module';
import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import type { FromEnvironment, ToEnvironment, WorkerSettings } from './execution-environment.ts';

const settings: WorkerSettings = workerData;

/**
 * Execution environments leave the CPU to the thread that is their AWS: with equal shares, dozens of execution
 * environments on a busy machine delay its responses beyond the timeouts of the SDK, whose retries delay them further.
 * Only on Linux does process ID 0 mean the thread (https://man7.org/linux/man-pages/man2/setpriority.2.html, "C
 * library/kernel differences").
 */
const NICE = 10;
if (process.platform === 'linux') setPriority(Math.min(19, getPriority() + NICE));

const offsetMs = new Float64Array(settings.offsetMs);
const realNow = Date.now;
/** The function uses the stack's clock, which tests move forward. */
Date.now = () => realNow() + (offsetMs[0] ?? 0);

type Handler = (event: unknown, context: object) => unknown;

const send = (message: FromEnvironment): void => {
  parentPort?.postMessage(message);
};

const errorPayload = (thrown: unknown): string => {
  if (!(thrown instanceof Error))
    return JSON.stringify({ errorType: typeof thrown, errorMessage: String(thrown), trace: [] });
  return JSON.stringify({
    errorType: thrown.name,
    errorMessage: thrown.message,
    trace: (thrown.stack ?? '').split('\n'),
  });
};

/** `Handler: index.handler` is the export `handler` of `index.js`. */
const loadHandler = (): Handler => {
  const [file = 'index', name = 'handler'] = settings.handler.split('.');
  const exported: unknown = createRequire(`${settings.directory}/`)(`./${file}.js`)[name];
  if (typeof exported !== 'function') throw new TypeError(`${settings.handler} is undefined or not exported`);
  return (event, context) => exported(event, context);
};

const context = (message: ToEnvironment): object => ({
  ...settings.context,
  awsRequestId: message.requestId,
  callbackWaitsForEmptyEventLoop: true,
  getRemainingTimeInMillis: () => Math.max(0, message.deadlineMs - realNow()),
});

/** The numbers of invocations received and completed. */
const received = new Int32Array(settings.invocations);
let completed = 0;

/** Resolves when all output has left the thread. */
const flushed = (stream: NodeJS.WriteStream): Promise<void> => {
  if (stream.writableLength === 0) return Promise.resolve();
  return new Promise((resolve) => {
    stream.write('', () => resolve());
  });
};

/**
 * Lambda freezes an execution environment after each invocation; timers, sockets and promises continue with the next
 * one. Here the thread blocks until the next invocation is sent, if that has not happened already.
 */
const freeze = async (): Promise<void> => {
  await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
  Atomics.wait(received, 0, completed);
};

/** Returns the class and message of an error and of its causes. */
const errorText = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const text = `${error.name}: ${error.message}`;
  return error.cause === undefined ? text : `${text}\ncaused by ${errorText(error.cause)}`;
};

if (settings.errorChannel) subscribe(settings.errorChannel, (error) => send({ error: errorText(error) }));

const handler = loadHandler();

parentPort?.on('message', async (message: ToEnvironment) => {
  const { requestId } = message;
  try {
    const result = await handler(JSON.parse(message.event), context(message));
    send({ requestId, payload: JSON.stringify(result) ?? 'null', failed: false });
  } catch (thrown) {
    send({ requestId, payload: errorPayload(thrown), failed: true });
  }
  completed += 1;
  void freeze();
});

send('ready');
