/**
 * One sandbox of a Lambda function: a worker thread that loads the bundle as the Node.js runtime of Lambda does and
 * handles one event at a time. It runs as plain JavaScript text (see `sandbox.ts`), so it imports nothing of ours but types.
 */
import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { FromSandbox, ToSandbox, WorkerSettings } from './sandbox.ts';

const settings: WorkerSettings = workerData;

const ahead = new Float64Array(settings.offsetMs);
const spentMs = new Float64Array(settings.spentMs);
const realNow = Date.now;
/** The function lives by the stack's time, which tests move forward. */
Date.now = () => realNow() + (ahead[0] ?? 0);

type Handler = (event: unknown, context: object) => unknown;

const send = (message: FromSandbox): void => {
  parentPort?.postMessage(message);
};

const failure = (thrown: unknown): string => {
  if (!(thrown instanceof Error))
    return JSON.stringify({ errorType: typeof thrown, errorMessage: String(thrown), trace: [] });
  return JSON.stringify({
    errorType: thrown.name,
    errorMessage: thrown.message,
    trace: (thrown.stack ?? '').split('\n'),
  });
};

/** `Handler: index.handler` is the export `handler` of `index.js`. */
const load = (): Handler => {
  const [file = 'index', name = 'handler'] = settings.handler.split('.');
  const exported: unknown = createRequire(`${settings.directory}/`)(`./${file}.js`)[name];
  if (typeof exported !== 'function') throw new TypeError(`${settings.handler} is undefined or not exported`);
  return (event, context) => exported(event, context);
};

const context = (message: ToSandbox): object => ({
  ...settings.context,
  awsRequestId: message.requestId,
  callbackWaitsForEmptyEventLoop: true,
  getRemainingTimeInMillis: () => Math.max(0, message.deadlineMs - (spentMs[0] ?? 0) - realNow()),
});

/** How many invocations were sent here, and how many of them are answered. */
const sent = new Int32Array(settings.invocations);
let answered = 0;

/** Resolves when what was printed has left the thread. */
const flushed = (stream: NodeJS.WriteStream): Promise<void> => {
  if (stream.writableLength === 0) return Promise.resolve();
  return new Promise((resolve) => {
    stream.write('', () => resolve());
  });
};

/**
 * Lambda freezes a sandbox that has answered: timers, sockets and promises go on with the next invocation. Here the
 * thread sleeps until one is sent; if that has happened already, it does not sleep.
 */
const freeze = async (): Promise<void> => {
  await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
  Atomics.wait(sent, 0, answered);
};

const handler = load();

parentPort?.on('message', async (message: ToSandbox) => {
  const { requestId } = message;
  try {
    const result = await handler(JSON.parse(message.event), context(message));
    send({ requestId, payload: JSON.stringify(result) ?? 'null', failed: false });
  } catch (thrown) {
    send({ requestId, payload: failure(thrown), failed: true });
  }
  answered += 1;
  void freeze();
});

send('ready');
