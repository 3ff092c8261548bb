import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { listenOnLoopback } from '../../support/listen.ts';

export type Counts = Record<string, number>;

/** A server in its own process, so that its CPU time is not measured with its caller's. */
export type ChildServer = {
  url: string;
  /** Returns the counts since the previous call. */
  counts: () => Promise<Counts>;
  /** Delays the processing of all further requests. At first, none is delayed. */
  setLatency: (latencyMs: number) => Promise<void>;
  stop: () => void;
};

const ready = z.object({ url: z.string() });
const countsMessage = z.record(z.string(), z.number());

/** A request of the parent process. The response is null if it sets the latency. */
const command = z.union([z.literal('counts'), z.object({ latencyMs: z.number() })]);
type Command = z.infer<typeof command>;

/** Starts a server of this folder. @param options passed to it as JSON */
export const startChild = async (file: `./${string}.ts`, options: unknown = {}): Promise<ChildServer> => {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [JSON.stringify(options)]);
  const nextMessage = async () => (await once(child, 'message'))[0];
  const { url } = ready.parse(await nextMessage());
  const execute = (message: Command): Promise<unknown> => {
    child.send(message);
    return nextMessage();
  };
  return {
    url,
    counts: async () => countsMessage.parse(await execute('counts')),
    setLatency: async (latencyMs) => void (await execute({ latencyMs })),
    stop: () => child.kill(),
  };
};

/** Returns the options with which this server was started. */
export const childOptions = <Options>(schema: z.ZodType<Options>): Options =>
  schema.parse(JSON.parse(process.argv[2] ?? '{}'));

/** Serves in this process, and executes the commands of the parent process. */
export const serveAsChild = (listener: (count: (name: string, amount?: number) => void) => RequestListener): void => {
  let counts: Counts = {};
  let latencyMs = 0;
  const count = (name: string, amount = 1) => {
    counts[name] = (counts[name] ?? 0) + amount;
  };
  const handle = listener(count);
  const server = createServer({ keepAliveTimeout: 60_000, maxHeaderSize: 64 * 1_024 }, (...call) => {
    if (latencyMs > 0) setTimeout(handle, latencyMs, ...call);
    else handle(...call);
  });
  void listenOnLoopback(server).then((port) => process.send?.({ url: `http://127.0.0.1:${port}` }));
  process.on('message', (message) => {
    const received = command.parse(message);
    if (received === 'counts') {
      process.send?.(counts);
      counts = {};
    } else {
      latencyMs = received.latencyMs;
      process.send?.(null);
    }
  });
  process.on('disconnect', () => process.exit());
};
