import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { listenOnLoopback } from '../../support/listen.ts';

/** Counters by name. */
export type Counts = Record<string, number>;

/** A server in its own process, so that its CPU time is not measured with its caller's. */
export type ChildServer = {
  url: string;
  /** Returns the counts since the previous call. */
  counts: () => Promise<Counts>;
  stop: () => void;
};

const ready = z.object({ url: z.string() });
const countsMessage = z.record(z.string(), z.number());

/** Starts a server of this folder. @param options passed to it as JSON */
export const startChild = async (file: `./${string}.ts`, options: unknown = {}): Promise<ChildServer> => {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [JSON.stringify(options)]);
  const nextMessage = async () => (await once(child, 'message'))[0];
  const { url } = ready.parse(await nextMessage());
  return {
    url,
    async counts() {
      child.send('counts');
      return countsMessage.parse(await nextMessage());
    },
    stop: () => child.kill(),
  };
};

/** Returns the options with which this server was started. */
export const childOptions = <Options>(schema: z.ZodType<Options>): Options =>
  schema.parse(JSON.parse(process.argv[2] ?? '{}'));

/** Serves in this process, and sends the counts to the parent process when it requests them. */
export const serveAsChild = (listener: (count: (name: string, amount?: number) => void) => RequestListener): void => {
  let counts: Counts = {};
  const count = (name: string, amount = 1) => {
    counts[name] = (counts[name] ?? 0) + amount;
  };
  const server = createServer({ keepAliveTimeout: 60_000 }, listener(count));
  void listenOnLoopback(server).then((port) => process.send?.({ url: `http://127.0.0.1:${port}` }));
  process.on('message', () => {
    process.send?.(counts);
    counts = {};
  });
  process.on('disconnect', () => process.exit());
};
